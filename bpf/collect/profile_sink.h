/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profile sink: where the profiles of the collector go.
 *
 * Threads: one thread of the collector calls it.
 */
#ifndef BPF_COLLECT_PROFILE_SINK_H
#define BPF_COLLECT_PROFILE_SINK_H

#include "model/labels.h"

/*
 * Take an uncompressed profile.proto. `ms` is when its interval began, since
 * the epoch. Returns 0; ERR_AGAIN: the profile is offered again later; or
 * another error: the profile is lost, and counted.
 */
typedef int profile_sink(void *ctx, struct labels *labels, int64_t ms,
			 struct bytes profile, struct err *err);

#endif
