/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Block: the profiles of some time, in files that never change. Format:
 * docs/format/block.md.
 *
 * Ownership: reference counted; its files may be unlinked under it.
 * Threads: any.
 */
#ifndef TSDB_BLOCK_BLOCK_H
#define TSDB_BLOCK_BLOCK_H

#include <pthread.h>

#include "base/log.h"
#include "base/metrics.h"
#include "tsdb/block/meta.h"
#include "tsdb/block/tombstones.h"
#include "tsdb/chunk/tables.h"
#include "tsdb/head/head.h"
#include "tsdb/index/index.h"

enum {
	CHUNK_HEADER = 8,
	CHUNK_GROUP = 0x70, /* encoding of a chunk: the head of a group */
};

#define CHUNK_MAGIC 0x85BD40DDu

/* What all blocks of a database share; outlives them. */
struct block_env {
	struct fs *fs;
	const char *dir; /* of the database */
	const struct log *log;
	struct metric *corruptions;
	const struct codec *columns; /* for blocks, beside zstd; may be NULL */
	struct tables *tables;       /* of that codec */
};

struct block {
	_Atomic uint32_t refs;
	const struct block_env *env;
	char *path;
	struct meta meta;
	struct index *index;
	struct blob **chunks; /* NULL: cannot be read */
	size_t chunk_count;
	struct file **values; /* number n at n - 1; NULL: cannot be read */
	size_t value_count;
	uint64_t bytes;   /* of all files */
	uint64_t damaged; /* files that are not as they were written */
	bool unreadable; /* some, because the disk refused: leave it as it is */

	pthread_mutex_t mu;
	struct tombstones *tombstones;
};

/* The path of a block's directory; the caller frees it. */
char *block_path(const struct block_env *env, const struct ulid *u,
		 const char *suffix);

/*
 * Open the block in a directory. ERR_CORRUPT: meta.json or index is damaged;
 * other damage is told, counted, and costs no more than what it hit.
 * ERR_UNSUPPORTED: written by a later version.
 */
NODISCARD int block_open(const struct block_env *env, const char *path,
			 struct block **out, struct err *err);

struct block *block_ref(struct block *b);
void block_unref(struct block *b);

/* A series' label set; the caller owns a reference. */
NODISCARD int block_labels(const struct block *b, uint32_t ref,
			   struct labels **out, struct err *err);

/* The groups that touch [from, to], and what hides parts of them. */
NODISCARD int block_groups(struct block *b, uint32_t ref, int64_t from,
			   int64_t to, struct chunks *out, struct err *err);

/* How their heads are read. */
struct chunk_source block_source(struct block *b);

NODISCARD int block_times(struct block *b, uint32_t ref, int64_t from,
			  int64_t to, struct times *out, struct err *err);
NODISCARD int block_lookup(struct block *b, uint32_t ref, int64_t ms,
			   struct part_hit *out, struct err *err);

/* The values file that a head names; NULL when the block has none such. */
struct file *block_values(const struct block *b, uint32_t file);

/* The tombstones of now, referenced. */
struct tombstones *block_tombstones(struct block *b);

/* Hide more, durably. */
NODISCARD int block_delete(struct block *b, const struct tombstones *more,
			   struct err *err);

#endif
