/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sum: adds stored profiles (rows of a group) to a merge without decoding them
 * to profiles.
 *
 * Ownership: a sum borrows the table of the row that was added last, until
 * columns_sum_flush(); the caller holds a reference to that table. Rows are not
 * kept.
 * Threads: one thread per sum.
 */
#ifndef PPROF_COLUMNS_COLUMNS_SUM_H
#define PPROF_COLUMNS_COLUMNS_SUM_H

#include "pprof/columns/columns.h"

/* Create a sum without rows. The caller frees it with columns_sum_free(). */
struct columns_sum *columns_sum_new(void);

/* Free a sum; rows that were not flushed are lost. */
void columns_sum_free(struct columns_sum *s);

/* Return the memory of the sum, in bytes. */
size_t columns_sum_memory(const struct columns_sum *s);

/*
 * Merge the rows added so far into `to` and empty the sum. Must be called
 * before anything else is added to `to`, and before merge_average(),
 * merge_label() or merge_no_labels() is called on `to`. Errors as for
 * merge_add().
 */
NODISCARD int columns_sum_flush(struct columns_sum *s, struct merge *to,
				struct err *err);

/*
 * Merge the rows added so far into `to`, like columns_sum_flush(), but stays
 * prepared for more rows of the same table, which are then added in less time. The
 * table must stay, and nothing else may be added to `to`, until columns_sum_flush()
 * or columns_sum_forget().
 */
NODISCARD int columns_sum_flush_part(struct columns_sum *s, struct merge *to,
				     struct err *err);

/* Empty the sum: rows that were not merged are dropped, after an error. */
void columns_sum_forget(struct columns_sum *s);

/*
 * Add a row to the sum. If the sum cannot take this row together with the rows
 * that it already has, the earlier rows are flushed to `to` first. `ops` has
 * one operation for each sample type, as in merge_add(), but must not be NULL.
 * ERR_UNSUPPORTED: the row was not added and has to be decoded and merged as a
 * profile; ERR_INVALID: as for merge_add().
 */
NODISCARD int columns_sum_add(struct columns_sum *s,
			      const struct codec_rows *rows, size_t row,
			      const enum merge_op *ops, struct merge *to,
			      struct err *err);

/*
 * Add all keys of the table of a row to an empty merge, as samples whose values are
 * 0: merge_place() says which sample of the result is which key. The sum must be
 * empty, and is so afterwards. Errors as for columns_sum_add().
 */
NODISCARD int columns_sum_all_keys(struct columns_sum *s,
				   const struct codec_rows *rows, size_t row,
				   struct merge *to, struct err *err);

#endif
