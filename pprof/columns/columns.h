/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns: the codec that stores profiles by their contents. What the profiles
 * of a target have in common is stored once per stripe (consecutive chunks that
 * share one table). Each profile becomes a few numbers, and decoding restores
 * its original bytes: docs/format/columns.md.
 *
 * The codec refuses a group (ERR_UNSUPPORTED) if it could not restore a profile
 * byte for byte, or if zstd would store the group in fewer bytes
 * (docs/decisions.md, 50).
 *
 * Ownership: as described in model/codec.h.
 * Threads: as described in model/codec.h.
 */
#ifndef PPROF_COLUMNS_COLUMNS_H
#define PPROF_COLUMNS_COLUMNS_H

#include "model/codec.h"
#include "model/regex.h"
#include "pprof/merge/merge.h"

/* The columns codec (CODEC_COLUMNS), see model/codec.h. */
extern const struct codec codec_columns;

/*
 * Sum: adds up stored profiles (rows of groups) without decoding them to
 * profiles. Within a stripe, the values of equal keys (a key is a stack with a
 * set of labels) are added; the total is then merged like a single profile. The
 * result is the same as from merging the profiles one after another, including
 * the order of samples with equal values (docs/decisions.md, 51).
 *
 * Ownership: a sum borrows the table of the row that was added last, until
 * columns_sum_flush().
 * Threads: one thread per sum.
 */
struct columns_sum;

/*
 * Find: tests whether stored profiles (rows of groups) have a sample in a
 * function whose name matches a regular expression.
 *
 * Ownership: a find borrows the expression, and the table of the row that was
 * tested last.
 * Threads: one thread per find.
 */
struct columns_find;

/*
 * Statistics of an encoder, for tests and benchmarks. They cover the groups
 * that were not refused.
 */
struct columns_counts {
	/*
	 * Number of profiles stored without a patch, counted separately for
	 * three writers: Go's runtime, google/pprof, protobuf libraries. A
	 * patch is stored if a profile differs from what decoding would write.
	 */
	size_t exact[3];
	size_t patched; /* number of profiles stored with a patch */
	size_t patch_bytes;
};

/* Return the statistics of an encoder of this codec, borrowed from it. */
const struct columns_counts *
columns_encoder_counts(const struct codec_encoder *e);

/*
 * Return the size in bytes that the stripe's table would have on disk if the
 * stripe ended now.
 */
size_t columns_encoder_table_size(const struct codec_encoder *e);

#endif
