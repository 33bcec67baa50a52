/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns: the codec that takes profiles apart. What the profiles of a target
 * have in common is kept once for a stripe, each profile as a few numbers, and
 * the bytes that came are written again from them: docs/format/columns.md.
 *
 * It refuses a group (ERR_UNSUPPORTED) whose profiles it cannot give back byte
 * for byte, or that it would make larger than zstd does.
 *
 * Ownership and threads: model/codec.h.
 */
#ifndef PPROF_COLUMNS_H
#define PPROF_COLUMNS_H

#include "model/codec.h"
#include "model/regex.h"
#include "pprof/merge.h"

extern const struct codec codec_columns;

/*
 * Sum: rows of groups added up as they are stored, in the stripe's numbers,
 * and then merged as one profile, by name. The result is that of merging the
 * profiles one after another, to the digit and in the same order.
 *
 * Ownership: a sum borrows the table of the last rows until it is flushed.
 * Threads: one thread a sum.
 */
struct columns_sum;

/*
 * Find: whether rows have a sample through a function whose name matches.
 *
 * Ownership: borrows the expression, and the table of the last row: where rows
 * could not be had, columns_find_forget(). Threads: one thread a find.
 */
struct columns_find;

/*
 * What became of the profiles of an encoder of this codec so far: for tests
 * and bench. Counts are of groups that were not refused.
 */
struct columns_counts {
	size_t exact[3]; /* Go's runtime, google/pprof, protobuf libraries */
	size_t patched;
	size_t patch_bytes;
};

const struct columns_counts *
columns_encoder_counts(const struct codec_encoder *e);

/* How long the table would be if the stripe ended now. */
size_t columns_encoder_table_size(const struct codec_encoder *e);

#endif
