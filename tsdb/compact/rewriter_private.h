/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations shared by the source files of the rewriter; no other file
 * includes this header.
 *
 * Ownership: a rewriter owns everything in it except what its options and the
 * block writer lend.
 * Threads: one thread at a time for each rewriter.
 */
#ifndef TSDB_COMPACT_REWRITER_PRIVATE_H
#define TSDB_COMPACT_REWRITER_PRIVATE_H

#include "base/vec.h"
#include "tsdb/chunk/chunk_writer.h"
#include "tsdb/compact/rewriter.h"
#include "tsdb/part/values.h"

#define SLOTS 16 /* number of decoded chunks kept at once */

#define SLOT_BYTES (32 * MIB) /* bound on the bytes of values in all slots */

#define NO_SOURCE SIZE_MAX /* marks an empty slot */

/* A chunk of the current series, and the place (part) it comes from. */
struct source {
	struct chunk group;
	uint32_t place; /* index in rewriter.places; lower: older part */
};

/* A decoded chunk, cached while overlapping chunks are merged. */
struct slot {
	size_t source; /* chunk: index in rewriter.sources, or NO_SOURCE */
	uint64_t used; /* rewriter.tick when the slot was last used */
	struct chunk_meta meta;
	int64_t totals[TYPES_MAX * CHUNK_PROFILES_MAX];
	struct bytes typeset;
	struct values values;
	struct err why; /* why profiles of the chunk could not be read */
};

/* One profile of overlapping chunks that are being merged. */
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
	bool seen;       /* the decision was made */
	bool link;       /* link the file instead of copying its chunks */
	uint32_t number; /* number of the linked file in the new block */
};

/*
 * A dictionary table that was copied into the new block, together with the
 * chunks that use it: its file and offset before, and its new place.
 */
struct copied {
	const struct file *from;
	uint64_t offset;
	struct chunk_table to; /* place of the table in the new block */
};

/*
 * The state of the rewriter: first what concerns the whole block, then what
 * concerns the current series.
 */
struct rewriter {
	struct rewriter_options o;
	struct block_writer *w;
	struct chunk_writer *chunk_writer;
	struct values_reader reader;
	struct buf stored; /* compressed bytes of a chunk */
	struct buf next;   /* uncompressed bytes of the profile to be added */
	struct file_plan **files; /* files[part][number of the values file] */
	struct index_chunk *chunks;
	size_t chunk_count;
	size_t chunk_cap;
	VEC(struct copied) copied; /* tables copied in the current stripe */
	struct table_ref *adopted; /* table of the last transcoded chunk */

	/* The series that is being written. */
	const struct merged_place *places;
	size_t place_count;
	/* Chunks and tombstones of the series, by place. */
	struct chunks *groups;
	struct source *sources;
	size_t source_count;
	size_t source_cap;
	/* Profiles of the overlapping chunks being merged. */
	struct item *items;
	size_t item_count;
	size_t item_cap;
	struct slot slots[SLOTS];
	uint64_t tick; /* counts uses of slots */
};

/* Returns the part that chunk number `source` comes from; borrowed. */
struct part part_of(const struct rewriter *r, size_t source);

/*
 * Returns the number of a new entry in r->chunks. Its contents are set when the
 * stripe ends, for only then is the place of the stripe's table known.
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
