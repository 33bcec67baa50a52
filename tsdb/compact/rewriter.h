/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rewriter writes the profiles of several parts into a new block, series by
 * series. Chunks are encoded again, or, where encoding again gains nothing,
 * taken over (linked, copied, or translated to the table of the new stripe)
 * without restoring their profiles (docs/decisions.md, 19).
 *
 * Ownership: borrows the parts and the block writer; rewriter_free() frees the
 * rest.
 * Threads: one thread at a time.
 */
#ifndef TSDB_COMPACT_REWRITER_H
#define TSDB_COMPACT_REWRITER_H

#include "tsdb/block/block_writer.h"
#include "tsdb/block/part.h"
#include "tsdb/compact/series_merger.h"

/* The profiles that were left out of a block because they could not be read. */
struct rewrite_loss {
	/* Lost profiles; a chunk without readable metadata counts as one. */
	uint64_t profiles;
	/*
	 * How many of `profiles` were lost to I/O errors, as opposed to damage.
	 */
	uint64_t unread;
};

/* The input and the settings of a rewriter. */
struct rewriter_options {
	/*
	 * The parts to rewrite, oldest first: of two profiles of a series at
	 * the same time, the profile in the earlier part is kept.
	 */
	const struct part *parts;
	size_t count;
	/* Encode all chunks again, not only chunks that overlap. */
	bool reencode;
	/* Codec tried before zstd; NULL: zstd only. */
	const struct codec *columns;
	int level; /* zstd compression level */
	/*
	 * Minimum size in bytes of a values file that is hard-linked into the
	 * new block. The chunks of smaller files are copied.
	 */
	uint64_t link_min;
	/*
	 * After an I/O error, leave out the profiles that the disk failed to
	 * read and go on. This is set for heads, which must be sealed because
	 * memory would otherwise grow without bound. If false, an I/O error
	 * ends the rewriting without a new block, because the disk may be able
	 * to read the old blocks later. Damaged profiles are always left out,
	 * because damage is permanent.
	 */
	bool salvage;
	/* The number of lost profiles is added here. */
	struct rewrite_loss *loss;
	const struct log *log;
	/* Counts profiles lost to damage or I/O errors. */
	struct metric *damaged;
};

struct rewriter;

/*
 * Return a rewriter for the given parts, which writes to w. The options are
 * copied, but the objects that their pointers refer to must outlive the
 * rewriter.
 */
struct rewriter *rewriter_new(const struct rewriter_options *o,
			      struct block_writer *w);

/* Free the rewriter; r may be NULL. */
void rewriter_free(struct rewriter *r);

/*
 * Write the profiles of one series; `places` are the parts that have the
 * series, with its number in each. Appends the new chunks to the list of
 * rewriter_chunks(). ERR_IO, ERR_NOSPACE, ERR_CORRUPT: the block is unusable
 * and must be abandoned.
 */
NODISCARD int rewriter_series(struct rewriter *r,
			      const struct merged_place *places, size_t count,
			      struct err *err);

/*
 * End the stripe after the last series of a target: writes the stripe's
 * dictionary table and completes the index entries of the stripe's chunks.
 * Errors as rewriter_series().
 */
NODISCARD int rewriter_end_target(struct rewriter *r, struct err *err);

/*
 * Return the index entries of all chunks written so far. The array is valid
 * until more chunks are written. The entries of a stripe's chunks are set when
 * the stripe ends.
 */
const struct index_chunk *rewriter_chunks(const struct rewriter *r,
					  size_t *count);

#endif
