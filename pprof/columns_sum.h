/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sum: add the rows of stored columns to a merge, without rebuilding profiles.
 *
 * Ownership: borrows the table and the chunk.
 * Threads: one thread a sum.
 */
#ifndef PPROF_COLUMNS_SUM_H
#define PPROF_COLUMNS_SUM_H

#include "pprof/columns.h"

struct columns_sum *columns_sum_new(void);

void columns_sum_free(struct columns_sum *s);

/* Bytes that it takes. */
size_t columns_sum_memory(const struct columns_sum *s);

/*
 * Merge what was added up. To be called before anything else is merged or
 * averaged, and before the labels change that a merge gives to samples.
 */
NODISCARD int columns_sum_flush(struct columns_sum *s, struct merge *to,
				struct err *err);

/*
 * Add a row, or, if it does not add up with those before it, flush these
 * first. ops: as merge_add()'s, but not NULL. ERR_UNSUPPORTED: the row has to
 * be read as a profile, nothing was added; ERR_INVALID, as merge_add().
 */
NODISCARD int columns_sum_add(struct columns_sum *s,
			      const struct codec_rows *rows, size_t row,
			      const enum merge_op *ops, struct merge *to,
			      struct err *err);

#endif
