/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rewriter writes the chunks of one series after another, from several
 * parts, into a new block. Chunks are encoded again, or, where that gains
 * nothing, taken over without decoding (docs/decisions.md, 19).
 *
 * Ownership: borrows the parts and the block writer; rewriter_free() frees the
 * rest.
 * Threads: one thread at a time.
 */
#ifndef TSDB_COMPACT_REWRITER_H
#define TSDB_COMPACT_REWRITER_H

#include "tsdb/block/block_writer.h"
#include "tsdb/compact/series_merger.h"
#include "tsdb/part/part.h"

/* The profiles that were left out of a block because they could not be read. */
struct rewrite_loss {
	uint64_t profiles; /* at least: lost chunk metadata gives no count */
	uint64_t unread;   /* of them, lost to I/O errors, not to damage */
};

/* The parts to read, and how to encode. */
struct rewriter_options {
	/*
	 * Oldest first: of two profiles of a series at the same time, the one
	 * in the earlier part is kept.
	 */
	const struct part *parts;
	size_t count;
	bool reencode; /* encode all chunks again, not only overlapping ones */
	const struct codec *columns; /* tried before zstd; NULL: zstd only */
	int level;                   /* of zstd */
	/* Smaller values files are copied, not linked; bytes. */
	uint64_t link_min;
	/*
	 * Leave out what the disk fails to read and go on. Used for heads,
	 * which must be sealed lest memory grow without bound. If false, an I/O
	 * error aborts the block, as its parents may be readable another day.
	 * Damage, which is permanent, is always left out.
	 */
	bool salvage;
	struct rewrite_loss *loss; /* counts are added to it */
	const struct log *log;
	struct metric *damaged; /* counts profiles lost to damage */
};

struct rewriter;

/*
 * Returns a rewriter for the given parts, which writes to w. The options are
 * copied; what they point to must outlive the rewriter.
 */
struct rewriter *rewriter_new(const struct rewriter_options *o,
			      struct block_writer *w);

/* Frees the rewriter; r may be NULL. */
void rewriter_free(struct rewriter *r);

/*
 * Writes the profiles that a series has in these places. Its chunks are
 * appended to those of rewriter_chunks(). ERR_IO, ERR_NOSPACE, ERR_CORRUPT: the
 * block is unusable and must be given up.
 */
NODISCARD int rewriter_series(struct rewriter *r,
			      const struct merged_place *places, size_t count,
			      struct err *err);

/*
 * Ends the stripe after the last series of a target: writes its dictionary
 * table and gives its chunks their places. Errors as rewriter_series().
 */
NODISCARD int rewriter_end_target(struct rewriter *r, struct err *err);

/*
 * Returns all chunks written so far, as the index needs them, borrowed until
 * the next call. Places are set only for chunks of stripes that have ended.
 */
const struct index_chunk *rewriter_chunks(const struct rewriter *r,
					  size_t *count);

#endif
