/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a block (docs/format/block.md): groups first, in stripe order, each
 * giving a chunk; then the index. Nobody sees the block before it is durable
 * and block_writer_publish() has renamed it.
 *
 * Ownership: block_writer_free() frees, and removes what is not published.
 * Threads: one thread at a time.
 */
#ifndef TSDB_BLOCK_BLOCK_WRITER_H
#define TSDB_BLOCK_BLOCK_WRITER_H

#include "tsdb/block/block.h"
#include "tsdb/index/index_writer.h"

#define BLOCK_TMP_SUFFIX    ".tmp-for-creation"
#define BLOCK_DELETE_SUFFIX ".tmp-for-deletion"

enum {
	BLOCK_VALUES_MAX = 1024 * 1024 * 1024,
	BLOCK_CHUNKS_MAX = 512 * 1024 * 1024,
};

struct block_writer;

NODISCARD int block_writer_new(const struct block_env *env,
			       const struct ulid *ulid,
			       struct block_writer **out, struct err *err);
void block_writer_free(struct block_writer *w);

/*
 * What meta.json will say. The caller sets times of the window, level, source
 * ULIDs, parents and LSNs; the writer does the rest.
 */
struct meta *block_writer_meta(struct block_writer *w);

/*
 * Groups are written as they come, their chunks when their stripe ends, for
 * only then their table has its place. Until then a chunk is a number of the
 * caller's.
 */

/*
 * Write a group's stored bytes. h's place and typeset are set, but for the
 * table: where that says none, a group as columns gets the stripe's own.
 */
NODISCARD int block_writer_group(struct block_writer *w, struct chunk_meta *h,
				 struct bytes stored, struct bytes typeset,
				 size_t chunk, struct err *err);

/*
 * Take over a values file of another block by a hard link, or by a copy where
 * the file system has none. *file is its number in this block.
 */
NODISCARD int block_writer_link(struct block_writer *w, const struct block *b,
				uint32_t number, uint32_t *file,
				struct err *err);

/* A group whose values are in a linked file; its table is there too. */
void block_writer_linked(struct block_writer *w, struct chunk_meta *h,
			 struct bytes typeset, size_t chunk);

/* Write a table that groups of other blocks bring along. */
NODISCARD int block_writer_table(struct block_writer *w, struct bytes stored,
				 struct chunk_table *out, struct err *err);

/* What comes is of another target. */
void block_writer_end_target(struct block_writer *w);

/* Whether the stripe should end, lest the file or the memory grow too much. */
bool block_writer_is_full(const struct block_writer *w);

/*
 * End the stripe: write its own table (may be empty) and its chunks. chunks[i]
 * becomes what the index says of chunk i.
 */
NODISCARD int block_writer_stripe(struct block_writer *w, struct bytes table,
				  struct index_chunk *chunks, struct err *err);

/* Begin the index, behind the last group. Borrowed. */
NODISCARD int block_writer_index(struct block_writer *w, uint32_t symbols,
				 uint64_t bytes, struct index_writer **out,
				 struct err *err);

/* Make all files durable. */
NODISCARD int block_writer_finish(struct block_writer *w, struct err *err);

/* Where the block is until it is published. */
const char *block_writer_path(const struct block_writer *w);

/*
 * Give the block its name, durably. b is the block as it was opened from
 * block_writer_path(): what cannot be read is not published.
 */
NODISCARD int block_writer_publish(struct block_writer *w, struct block *b,
				   struct err *err);

#endif
