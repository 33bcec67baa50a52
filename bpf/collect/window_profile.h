/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Window profile: the samples of one series of a window as a profile
 * (github.com/google/pprof/proto/profile.proto), with the sample types
 * samples/count and cpu/nanoseconds, or wallclock/nanoseconds for threads that
 * wait, and the chosen labels on each sample.
 *
 * Ownership: appends to the caller's buffer.
 * Threads: one thread at a time.
 */
#ifndef BPF_COLLECT_WINDOW_PROFILE_H
#define BPF_COLLECT_WINDOW_PROFILE_H

#include "bpf/collect/sample_window.h"

/*
 * Encode the profile of a kind of a series. `names` has the answer for each
 * frame of the window (frame_names_find()). `period` is the interval of CPU
 * samples in ns, or the number of waits of which one was sampled. Returns false
 * if there are no samples; nothing is appended then.
 */
bool window_profile_encode(const struct sample_window *w, uint32_t series,
			   enum window_kind kind, const struct bytes *names,
			   int64_t period, struct buf *out);

#endif
