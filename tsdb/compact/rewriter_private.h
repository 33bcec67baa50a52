/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations shared by the source files of the rewriter; no other file
 * includes this header.
 *
 * Ownership: a rewriter owns everything in it except the block writer and what
 * its options point to.
 * Threads: one thread at a time for each rewriter.
 */
#ifndef TSDB_COMPACT_REWRITER_PRIVATE_H
#define TSDB_COMPACT_REWRITER_PRIVATE_H

#include "base/vec.h"
#include "tsdb/block/values.h"
#include "tsdb/chunk/chunk_writer.h"
#include "tsdb/compact/rewriter.h"

#define SLOTS 16 /* maximum number of decoded chunks in memory */

#define SLOT_BYTES (32 * MIB) /* maximum bytes of the values in all slots */

#define NO_SOURCE SIZE_MAX /* value of slot.source in an empty slot */

/*
 * A chunk of the current series, and the place (a part and the number of the
 * series in the part) from which the chunk comes.
 */
struct source {
	struct chunk group;
	/* Index in rewriter.places; a lower index is an older part. */
	uint32_t place;
};

/* A decoded chunk, cached while overlapping chunks are merged. */
struct slot {
	/* Index of the chunk in rewriter.sources, or NO_SOURCE. */
	size_t source;
	uint64_t used; /* rewriter.tick when the slot was last used */
	struct chunk_meta meta;
	int64_t totals[TYPES_MAX * CHUNK_PROFILES_MAX];
	struct bytes typeset;
	struct values values;
	/* Error of the profiles of the chunk that could not be read. */
	struct err why;
};

/* A profile of one of the overlapping chunks that are being merged. */
struct item {
	int64_t ms;
	uint32_t source;
	uint16_t index; /* number of the profile in its chunk */
};

/*
 * The decision whether one values file of a source block is linked into the new
 * block.
 */
struct file_plan {
	bool seen; /* whether the decision was made */
	/* Whether to link the file instead of copying its chunks. */
	bool link;
	uint32_t number; /* number of the linked file in the new block */
};

/*
 * A dictionary table of an old block that was copied into the new block: its
 * old file and offset, and its new place. Chunks that use the table are copied
 * with it.
 */
struct copied {
	const struct file *from;
	uint64_t offset;
	struct chunk_table to; /* place of the table in the new block */
};

/*
 * The state of the rewriter: first the members for the whole block, then the
 * members for the current series.
 */
struct rewriter {
	struct rewriter_options o;
	struct block_writer *w;
	struct chunk_writer *chunk_writer;
	struct values_reader reader;
	/* Compressed bytes of the chunk under construction. */
	struct buf stored;
	struct buf next; /* uncompressed bytes of the profile to be added */
	/* files[part][number of a values file]: whether the file is linked. */
	struct file_plan **files;
	struct index_chunk *chunks;
	size_t chunk_count;
	size_t chunk_cap;
	/* Tables that were copied in the current stripe. */
	VEC(struct copied) copied;
	/* Table of the chunk that was transcoded last. */
	struct table_ref *adopted;

	/* The places of the series that is being written. */
	const struct merged_place *places;
	size_t place_count;
	/* For each place, the chunks and tombstones of the series. */
	struct chunks *groups;
	struct source *sources;
	size_t source_count;
	size_t source_cap;
	/* Profiles of the overlapping chunks that are being merged. */
	struct item *items;
	size_t item_count;
	size_t item_cap;
	struct slot slots[SLOTS];
	uint64_t tick; /* incremented at each use of a slot */
};

/* Returns the part that chunk number `source` comes from; borrowed. */
struct part part_of(const struct rewriter *r, size_t source);

/*
 * Returns the number of a new entry in r->chunks. Its contents are set when the
 * stripe ends, because the place of the stripe's table is not known before.
 */
size_t new_chunk(struct rewriter *r);

/*
 * Ends the stripe if its table or its memory has grown too large. Errors as
 * rewriter_series().
 */
NODISCARD int end_full_stripe(struct rewriter *r, struct err *err);

/*
 * Encodes again the chunks r->sources[from] to r->sources[to - 1]: either
 * chunks that overlap, or a single chunk. They must be sorted by age: of two
 * profiles at the same time, the profile in the first chunk is kept. Errors as
 * rewriter_series().
 */
NODISCARD int encode_groups(struct rewriter *r, size_t from, size_t to,
			    struct err *err);

#endif
