/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Block writer (docs/format/block.md): takes the chunks, stripe by stripe (a
 * stripe is consecutive chunks that share one dictionary table), and then the
 * index. The block is written in a temporary directory; no reader sees it
 * before it is durable and block_writer_publish() has renamed it.
 *
 * The stored bytes of a chunk are written at once. Its metadata is written when
 * the stripe ends, because it contains the place of the stripe's table, which
 * is not known before. Until then the caller refers to a chunk by a number that
 * the caller chooses.
 *
 * Ownership: block_writer_free() frees the writer and removes a block that was
 * not published.
 * Threads: one thread at a time.
 */
#ifndef TSDB_BLOCK_BLOCK_WRITER_H
#define TSDB_BLOCK_BLOCK_WRITER_H

#include "tsdb/block/block.h"
#include "tsdb/index/index_writer.h"

/*
 * Suffixes of the directories of blocks that are being written or removed.
 * Directories with these suffixes are removed when the database is opened.
 */
#define BLOCK_TMP_SUFFIX    ".tmp-for-creation"
#define BLOCK_DELETE_SUFFIX ".tmp-for-deletion"

/* Size in bytes above which a new values file or chunk file is begun. */
enum {
	BLOCK_VALUES_MAX = 1024 * 1024 * 1024,
	BLOCK_CHUNKS_MAX = 512 * 1024 * 1024,
};

struct block_writer;

/*
 * Create the temporary directory of a block with this id. The caller owns *out.
 * ERR_NOSPACE, ERR_IO: it cannot be created.
 */
NODISCARD int block_writer_new(const struct block_env *env,
			       const struct ulid *ulid,
			       struct block_writer **out, struct err *err);

/*
 * Free the writer, and remove the directory unless it was published. NULL is a
 * no-op.
 */
void block_writer_free(struct block_writer *w);

/*
 * The content of meta.json, borrowed. The caller sets window, level, sources,
 * parents and LSNs; the writer sets the rest.
 */
struct meta *block_writer_meta(struct block_writer *w);

/*
 * Write a chunk's stored bytes, and set h->place and h->typeset. Only
 * h->place.table is not changed: if it is empty and the chunk is stored as
 * columns, the chunk gets the table that is later passed to
 * block_writer_stripe(). `chunk` is the caller's number of the chunk.
 * ERR_NOSPACE, ERR_IO: the bytes cannot be written.
 */
NODISCARD int block_writer_group(struct block_writer *w, struct chunk_meta *h,
				 struct bytes stored, struct bytes typeset,
				 size_t chunk, struct err *err);

/*
 * Add a values file of another block without copying it, by a hard link, or by
 * a copy if the file system does not support links. *file is set to the number
 * of the file in the new block. ERR_CORRUPT: b has no such file. ERR_NOSPACE,
 * ERR_IO: the file could be neither linked nor copied.
 */
NODISCARD int block_writer_link(struct block_writer *w, const struct block *b,
				uint32_t number, uint32_t *file,
				struct err *err);

/*
 * Add a chunk whose stored bytes, and table if it has one, are in a values file
 * that block_writer_link() added. h->place says where.
 */
void block_writer_linked(struct block_writer *w, struct chunk_meta *h,
			 struct bytes typeset, size_t chunk);

/*
 * Write the dictionary table of chunks that are copied from another block; *out
 * is set to the place of the table. ERR_NOSPACE, ERR_IO.
 */
NODISCARD int block_writer_table(struct block_writer *w, struct bytes stored,
				 struct chunk_table *out, struct err *err);

/*
 * To be called between two targets: the next chunks are of another target, and
 * use none of the tables written so far.
 */
void block_writer_end_target(struct block_writer *w);

/*
 * Whether the stripe should end because the values file or the metadata that
 * waits in memory has grown too large.
 */
bool block_writer_is_full(const struct block_writer *w);

/*
 * End the stripe: write its table, unless `table` is empty, then the metadata
 * of its chunks. chunks[i] becomes the index entry of the caller's chunk i.
 * ERR_NOSPACE, ERR_IO.
 */
NODISCARD int block_writer_stripe(struct block_writer *w, struct bytes table,
				  struct index_chunk *chunks, struct err *err);

/*
 * Begin the index, after the last stripe. *out is borrowed. `symbols`, `bytes`
 * and the errors are as for index_writer_new().
 */
NODISCARD int block_writer_index(struct block_writer *w, uint32_t symbols,
				 uint64_t bytes, struct index_writer **out,
				 struct err *err);

/*
 * Write index and meta.json and fsync all files and directories. ERR_TOOBIG:
 * the index exceeds one of its limits. ERR_NOSPACE, ERR_IO.
 */
NODISCARD int block_writer_finish(struct block_writer *w, struct err *err);

/* Path of the temporary directory; borrowed. */
const char *block_writer_path(const struct block_writer *w);

/*
 * Rename the directory to its final name, durably. b is the block, which the
 * caller has opened from block_writer_path(), so that no unreadable block is
 * published (docs/decisions.md, 21); b->path is updated. On failure the block
 * is not published, unless undoing the rename fails too.
 */
NODISCARD int block_writer_publish(struct block_writer *w, struct block *b,
				   struct err *err);

#endif
