/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profile sink: the callback that takes the profiles of the collector, for
 * example to store them.
 *
 * Threads: one thread of the collector calls it.
 */
#ifndef BPF_COLLECT_PROFILE_SINK_H
#define BPF_COLLECT_PROFILE_SINK_H

#include "model/labels.h"

enum {
	/*
	 * Largest size of a profile in bytes. A larger one is not offered, and
	 * is counted in `profiles_failed` of struct collector_stats.
	 */
	PROFILE_SINK_MAX = 64 << 20
};

/*
 * Take an uncompressed profile.proto. The labels and the profile are borrowed.
 * `ms` is the time when the interval of the profile began, in ms since the
 * epoch. Return 0 or an error. After ERR_AGAIN, the profile is offered again,
 * but only for a limited time. After any other error, the profile is lost, and
 * is counted in `profiles_failed` of struct collector_stats.
 */
typedef int profile_sink(void *ctx, struct labels *labels, int64_t ms,
			 struct bytes profile, struct err *err);

#endif
