/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the rewriter share. No file outside of them includes it.
 *
 * Ownership: a rewriter owns everything in it.
 * Threads: one thread a rewriter.
 */
#ifndef TSDB_COMPACT_REWRITER_PRIVATE_H
#define TSDB_COMPACT_REWRITER_PRIVATE_H

#include "base/vec.h"
#include "tsdb/chunk/chunk_writer.h"
#include "tsdb/compact/rewriter.h"
#include "tsdb/part/values.h"

#define SLOTS 16

#define SLOT_BYTES (32 * MIB) /* of values, over all slots */

#define NO_SOURCE SIZE_MAX

/* A group, and in which place of its series it is. */
struct source {
	struct chunk group;
	uint32_t place;
};

/* A decoded group. */
struct slot {
	size_t source; /* NO_SOURCE: free */
	uint64_t used; /* when, for the oldest to go first */
	struct chunk_meta meta;
	int64_t totals[TYPES_MAX * CHUNK_PROFILES_MAX];
	struct bytes typeset;
	struct values values;
	struct err why; /* what is wrong with its profiles that are not ok */
};

/* One profile of the groups that overlap. */
struct item {
	int64_t ms;
	uint32_t source;
	uint16_t index;
};

/* A values file of a block: what is done with its groups. */
struct file_plan {
	bool seen;
	bool link;
	uint32_t number; /* in the new block */
};

/* A table that was copied for groups that are taken over. */
struct copied {
	const struct file *from;
	uint64_t offset;
	struct chunk_table to; /* in the new block */
};

struct rewriter {
	struct rewriter_options o;
	struct block_writer *w;
	struct chunk_writer *chunk_writer;
	struct values_reader reader;
	struct buf stored;
	struct buf next;
	struct file_plan **files; /* by part, by file */
	struct index_chunk *chunks;
	size_t chunk_count;
	size_t chunk_cap;
	VEC(struct copied) copied; /* in this stripe */

	/* The series. */
	const struct merged_place *places;
	size_t place_count;
	struct chunks *groups; /* by place */
	struct source *sources;
	size_t source_count;
	size_t source_cap;
	struct item *items;
	size_t item_count;
	size_t item_cap;
	struct slot slots[SLOTS];
	uint64_t tick;
};

struct part part_of(const struct rewriter *r, size_t source);

/* The number of one chunk more; the stripe's end says where it is. */
size_t new_chunk(struct rewriter *r);

NODISCARD int end_full_stripe(struct rewriter *r, struct err *err);

/*
 * Encode groups [from, to) of the series, which overlap, or are one, anew.
 * Sources are sorted so that of two at one time the older comes first.
 */
NODISCARD int encode_groups(struct rewriter *r, size_t from, size_t to,
			    struct err *err);

#endif
