/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structures that the files of the block writer share. No other file includes
 * this header.
 *
 * Ownership: a writer owns everything in it.
 * Threads: one thread per writer.
 */
#ifndef TSDB_BLOCK_BLOCK_WRITER_PRIVATE_H
#define TSDB_BLOCK_BLOCK_WRITER_PRIVATE_H

#include "base/vec.h"
#include "tsdb/block/block_writer.h"

/*
 * A values file of the block that is being written. `live` is the number of its
 * bytes that belong to chunks of the block and their tables.
 */
struct values_file {
	uint64_t size;
	uint64_t live;
	uint32_t crc;
};

/*
 * A chunk whose metadata is not written yet, because its stripe has not ended.
 */
struct waiting {
	size_t at; /* offset of its encoded metadata in `fronts` */
	size_t len;
	struct chunk_place place;
	uint8_t codec;
	size_t chunk; /* the caller's number of the chunk */
	/* Times of its first and last profile. */
	int64_t min;
	int64_t max;
};

/*
 * Where a table is. Its bytes have been counted as live, because a chunk of the
 * block uses it.
 */
struct live_table {
	uint32_t file;
	uint64_t offset;
};

/* A block that is being written. */
struct block_writer {
	const struct block_env *env;
	char *path; /* temporary directory */
	bool published;
	struct meta meta;

	/*
	 * The values file being written; values.file is NULL if there is none.
	 */
	struct outfile values;
	uint32_t current; /* number of the values file being written */
	struct values_file *files;
	size_t file_count;
	size_t file_cap;

	struct outfile chunks;
	uint32_t segment; /* number of the chunk file, from 1; 0: none yet */
	struct buf scratch;
	struct index_writer *index;

	/*
	 * The current stripe. Its chunks and its table are in one values file.
	 */
	bool in_stripe;
	VEC(struct waiting) waiting;
	VEC(struct live_table) tables;
	struct buf fronts; /* encoded metadata of `waiting`, without places */
};

/*
 * Finish the values file being written, if any, and note its size and checksum.
 * ERR_NOSPACE, ERR_IO: it is not durable.
 */
NODISCARD int close_values(struct block_writer *w, struct err *err);

/*
 * Finish the chunk file being written, if any, and list it in meta.json.
 * ERR_NOSPACE, ERR_IO: it is not durable.
 */
NODISCARD int close_chunks(struct block_writer *w, struct err *err);

#endif
