/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Held samples: samples that wait while facts about their processes are being
 * read that decide about their series or stacks. They are taken when the facts
 * are known, or without them after a moment.
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
	/* How long a sample waits. */
	HELD_SAMPLES_MS = 1000,
};

/* A sample that waits. */
struct held_sample {
	struct sample_record *record;
	uint32_t pid;
	uint32_t uid;           /* the user of the process */
	struct window_input in; /* without the frames */
	uint64_t until;
};

/* { 0 } is an empty list. */
struct held_samples {
	VEC(struct held_sample) list;
};

/*
 * Copy a sample of a process of a user into the list. False: there are too many,
 * or too many of the user or of the process.
 */
bool held_samples_add(struct held_samples *h, const struct sample_record *r,
		      uint32_t uid, const struct window_input *in,
		      uint64_t now);

/*
 * From index *at on, remove the first sample that has waited long enough, or
 * for whose process waits() returns false. The caller frees its record. Set *at
 * to where the next search begins. False: there is none.
 */
bool held_samples_take(struct held_samples *h, size_t *at,
		       bool (*waits)(void *ctx, uint32_t pid), void *ctx,
		       uint64_t now, struct held_sample *out);

/* Whether a sample from before a time waits. */
bool held_samples_before(const struct held_samples *h, uint64_t time);

/* Free everything. */
void held_samples_fini(struct held_samples *h);

#endif
