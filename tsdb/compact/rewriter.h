/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rewriter: the groups of one series after another, from several parts into a
 * block. Groups are encoded anew, or, where that gains nothing, taken over as
 * they are.
 *
 * Ownership: borrows parts and writer. Threads: one thread at a time.
 */
#ifndef TSDB_COMPACT_REWRITER_H
#define TSDB_COMPACT_REWRITER_H

#include "tsdb/block/block_writer.h"
#include "tsdb/compact/series_merger.h"
#include "tsdb/part/part.h"

/* What a rewriting left out because it could not be read. */
struct rewrite_loss {
	uint64_t profiles; /* at least: a lost head does not say how many */
	uint64_t unread;   /* of them: the disk did not give them back */
};

struct rewriter_options {
	const struct part *parts; /* older first: of two at one time it stays */
	size_t count;
	bool reencode; /* all groups; else only those that overlap */
	const struct codec *columns; /* tried before zstd; NULL: not at all */
	int level;
	uint64_t link_min; /* values files below it are copied together */
	/*
	 * Go on without what the disk does not give back, as for a range, which
	 * must be sealed, lest memory grow without bound. Else a block with
	 * such a place is given up: it may be read another day.
	 */
	bool salvage;
	struct rewrite_loss *loss;
	const struct log *log;
	struct metric *damaged; /* profiles lost to damage */
};

struct rewriter;

struct rewriter *rewriter_new(const struct rewriter_options *o,
			      struct block_writer *w);
void rewriter_free(struct rewriter *r);

/*
 * Write what a series has in these places. Its chunks are added to those of
 * rewriter_chunks(). ERR_IO, ERR_NOSPACE: the block is to be given up.
 */
NODISCARD int rewriter_series(struct rewriter *r,
			      const struct merged_place *places, size_t count,
			      struct err *err);

/*
 * A target ends: what shares its table is complete, its chunks get their
 * places. To be called behind its last series.
 */
NODISCARD int rewriter_end_target(struct rewriter *r, struct err *err);

/* All chunks so far. */
const struct index_chunk *rewriter_chunks(const struct rewriter *r,
					  size_t *count);

#endif
