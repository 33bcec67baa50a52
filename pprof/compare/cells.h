/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cells: the values of the samples of a comparison, apart by side and by bucket of
 * time, or by side and by instance. Most samples are in few buckets, so only the
 * cells that have a value are kept.
 *
 * Ownership: cells_fini() frees everything.
 * Threads: one thread at a time.
 */
#ifndef PPROF_COMPARE_CELLS_H
#define PPROF_COMPARE_CELLS_H

#include "base/pairs.h"
#include "base/vec.h"

/* The value of one sample in one column. */
struct cell {
	uint32_t sample;
	uint32_t column;
	int64_t value;
};

/* Cells in the order in which they were first added. The zero value is empty. */
struct cells {
	VEC(struct cell) v;
	struct pairs index; /* finds a cell by its sample and column */
	/* By sample: the number of the cell that was added to last, or 0. */
	VEC(uint32_t) last;
};

/* Add to the value of a cell. */
void cells_add(struct cells *c, uint32_t sample, uint32_t column, int64_t v);

/* Return the largest number of a sample that has cells, plus 1. */
size_t cells_samples(const struct cells *c);

/*
 * Bring the cells of each sample together, in the order in which they were added.
 * Returns an array of samples + 1 numbers, which the caller frees: the cells of sample i
 * begin at element i of it and end before element i + 1. Nothing can be added
 * afterwards.
 */
uint32_t *cells_sort(struct cells *c, size_t samples);

/* Return the memory in bytes. */
size_t cells_memory(const struct cells *c);

/* Free everything; the result is empty. */
void cells_fini(struct cells *c);

#endif
