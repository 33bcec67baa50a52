/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heartbeat: a small profile of a whole machine that says that the machine was
 * sampled for the time of a window, and what became of the samples
 * (docs/ebpf.md, "Heartbeats"). It is stored after all profiles of the window.
 *
 * Ownership: appends to the caller's buffer.
 * Threads: one thread at a time.
 */
#ifndef BPF_COLLECT_HEARTBEAT_H
#define BPF_COLLECT_HEARTBEAT_H

#include "bpf/collect/sample_window.h"

enum {
	/* If more of the samples are lost, the window has no heartbeat. */
	HEARTBEAT_LOST_PERCENT = 5,
};

/*
 * Encode the heartbeat of a kind of samples. `period` is as for
 * window_profile_encode(). False: no samples were taken, or too many are lost,
 * so nobody may take those of the window for all; nothing is appended then.
 */
bool heartbeat_encode(const struct sample_window *w, enum window_kind kind,
		      int64_t period, struct buf *out);

#endif
