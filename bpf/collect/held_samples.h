/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Held samples: samples that wait while facts about their processes, or about
 * the parents of these processes, are being read. The facts decide to which
 * series a sample belongs, and to which files the addresses of its stack
 * belong. A sample leaves the list when reading has ended, with success or not,
 * or else after HELD_SAMPLES_MS.
 *
 * Ownership: the list owns copies of the samples.
 * Threads: one thread at a time.
 * Units: milliseconds of a clock that never goes back.
 */
#ifndef BPF_COLLECT_HELD_SAMPLES_H
#define BPF_COLLECT_HELD_SAMPLES_H

#include "bpf/collect/sample_window.h"
#include "bpf/kernel/abi.h"

enum {
	/* Largest number of samples held at once; further ones do not wait. */
	HELD_SAMPLES_MAX = 1024,
	/* Of these, at most this many are of one user other than root … */
	HELD_SAMPLES_USER_MAX = HELD_SAMPLES_MAX / 4,
	/* … and of one process. */
	HELD_SAMPLES_PROCESS_MAX = 16,
	/* The longest time for which a sample waits. */
	HELD_SAMPLES_MS = 1000,
};

/* A sample that waits. */
struct held_sample {
	struct sample_record *record;
	uint32_t pid;
	uint32_t uid;           /* user to whose share the process counts */
	struct window_input in; /* `time`, `kind`, `samples` and `value` only */
	uint64_t until;
};

/* { 0 } is an empty list. */
struct held_samples {
	VEC(struct held_sample) list;
};

/*
 * Copy the sample `r` into the list. `uid` is the user to whose share the
 * process of the sample counts (user_ranges_share()). False: the list has too
 * many samples in all, of this user, or of this process.
 */
bool held_samples_add(struct held_samples *h, const struct sample_record *r,
		      uint32_t uid, const struct window_input *in,
		      uint64_t now);

/*
 * From index *at on, find the first sample that need not wait any longer:
 * either waits() returns false for its process, or its time `until` has come.
 * Move this sample from the list to *out; the caller frees its record. Set *at
 * to the index where the next search begins. False: there is no such sample.
 */
bool held_samples_take(struct held_samples *h, size_t *at,
		       bool (*waits)(void *ctx, uint32_t pid), void *ctx,
		       uint64_t now, struct held_sample *out);

/*
 * Whether the list has a sample whose `in.time` is before `time`. Both times
 * are in monotonic ns.
 */
bool held_samples_before(const struct held_samples *h, uint64_t time);

/* Free everything. */
void held_samples_fini(struct held_samples *h);

#endif
