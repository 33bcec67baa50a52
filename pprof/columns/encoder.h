/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The encoder of the columns codec: profiles become rows of a group, and what
 * they have in common becomes elements of the stripe's dictionary.
 *
 * Ownership: as described in model/codec.h.
 * Threads: as described in model/codec.h.
 */
#ifndef PPROF_COLUMNS_ENCODER_H
#define PPROF_COLUMNS_ENCODER_H

#include "pprof/columns/columns.h"
#include "pprof/dictionary/dictionary.h"

/*
 * The table of a stripe (consecutive groups that share one dictionary), in
 * memory.
 */
struct codec_table {
	struct dictionary d;
};

/*
 * Create an encoder with an empty stripe. `level` is the zstd compression
 * level.
 */
struct codec_encoder *columns_encoder_new(int level);

/* Free an encoder and its unfinished stripe. `e` may be NULL. */
void columns_encoder_free(struct codec_encoder *e);

/*
 * Encode profiles as one group and append the group to `out`. ERR_UNSUPPORTED:
 * the group cannot be restored byte for byte, exceeds a limit, or is smaller
 * with zstd. The table and `out` are then unchanged.
 */
int columns_encode(struct codec_encoder *e, const struct bytes *values,
		   size_t count, struct buf *out, struct err *err);

/* The table of the current stripe, borrowed until the stripe ends. */
const struct codec_table *columns_encoder_table(const struct codec_encoder *e);

/* Whether the stripe should end, because its dictionary is large. */
bool columns_encoder_is_full(const struct codec_encoder *e);

/*
 * Append the table of the stripe to `out` and begin a new stripe. Nothing is
 * appended if no group was accepted. ERR_CORRUPT: the stored table does not
 * decode to the table in memory.
 */
int columns_encoder_finish(struct codec_encoder *e, struct buf *out,
			   struct err *err);

/* Accept groups even if they are smaller with zstd; for tests. */
void columns_encoder_take_all(struct codec_encoder *e);

/*
 * Encode a stored group again, with the table of the current stripe, and append
 * it to `out`. The old table must stay open until a group with another old
 * table is adopted, a group is encoded, or the stripe or the encoder ends.
 * ERR_CORRUPT: the group is damaged; ERR_UNSUPPORTED: the current table would
 * become too large, or the old table has too many mappings.
 */
int columns_adopt(struct codec_encoder *e, const struct codec_group *group,
		  struct buf *out, struct err *err);

#endif
