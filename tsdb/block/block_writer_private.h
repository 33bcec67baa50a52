/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the block writer share. No file outside of them includes it.
 *
 * Ownership: a writer owns everything in it.
 * Threads: one thread a writer.
 */
#ifndef TSDB_BLOCK_BLOCK_WRITER_PRIVATE_H
#define TSDB_BLOCK_BLOCK_WRITER_PRIVATE_H

#include "base/vec.h"
#include "tsdb/block/block_writer.h"

/* A values file of the block. */
struct values_file {
	uint64_t size;
	uint64_t live;
	uint32_t crc;
};

/* A group whose chunk is not written yet. */
struct waiting {
	size_t at; /* of the front of its head, in fronts */
	size_t len;
	struct chunk_place place;
	uint8_t codec;
	size_t chunk;
	int64_t min;
	int64_t max;
};

/* A table that counts as live. */
struct live_table {
	uint32_t file;
	uint64_t offset;
};

struct block_writer {
	const struct block_env *env;
	char *path; /* the temporary one */
	bool published;
	struct meta meta;

	struct outfile values; /* the one being written, if file is not NULL */
	uint32_t current;      /* its number */
	struct values_file *files;
	size_t file_count;
	size_t file_cap;

	struct outfile chunks;
	uint32_t segment; /* its number, from 1; 0: none yet */
	struct buf scratch;
	struct index_writer *index;

	/* The stripe: all of it, and its tables, are in one file. */
	bool in_stripe;
	VEC(struct waiting) waiting;
	VEC(struct live_table) tables;
	struct buf fronts;
};

NODISCARD int close_values(struct block_writer *w, struct err *err);

NODISCARD int close_chunks(struct block_writer *w, struct err *err);

#endif
