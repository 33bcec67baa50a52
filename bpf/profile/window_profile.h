/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Window profile: the samples of one series of a window as a profile
 * (github.com/google/pprof/proto/profile.proto), with the sample types
 * samples/count and cpu/nanoseconds, and the labels pid and comm on each sample.
 *
 * Ownership: appends to the caller's buffer.
 * Threads: one thread at a time.
 */
#ifndef BPF_PROFILE_WINDOW_PROFILE_H
#define BPF_PROFILE_WINDOW_PROFILE_H

#include "bpf/profile/sample_window.h"

/*
 * Encode the profile of a series. `names` has the answer for each frame of the
 * window (frame_names_find()); a sample stands for `period_ns`.
 */
void window_profile_encode(const struct sample_window *w, uint32_t series,
			   const struct bytes *names, int64_t period_ns,
			   struct buf *out);

#endif
