/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cache of dictionary tables: a stripe's table is opened once and shared by all
 * readers of its chunks. Tables that no reader holds are evicted, the least
 * recently used one first, when all tables exceed a memory limit.
 *
 * Ownership: tables are counted references: whoever uses a table, also through
 * the rows of a chunk that refer to it, holds a reference of its own, and the
 * table stays in memory until the last one is released. All references must be
 * released before the cache is freed.
 * Threads: any; locks inside.
 */
#ifndef TSDB_CHUNK_TABLES_H
#define TSDB_CHUNK_TABLES_H

#include "base/file.h"
#include "model/codec.h"
#include "tsdb/chunk/chunk_meta.h"

struct tables;

/* An open table and the number of its users; the table is immutable. */
struct table_ref {
	struct codec_table *table;
};

/*
 * Create a cache for the tables of one codec. max: bytes of memory above which
 * tables that nobody holds are evicted. The caller owns the cache.
 */
struct tables *tables_new(const struct codec *codec, size_t max);

/*
 * Free the cache and all its tables; no reference may be left. NULL is a no-op.
 */
void tables_free(struct tables *t);

/*
 * Where a table is stored; owner, number and offset are the key in the cache.
 */
struct table_place {
	/* The block that owns the file, until tables_forget(). */
	const void *owner;
	uint32_t number; /* number of the file in its block */
	const struct file *file;
	struct chunk_table at;
};

/*
 * Get the table at a place, from the cache or, verified by its checksum, from
 * the file. The caller releases *out with table_unref(). ERR_CORRUPT: the table
 * is damaged or larger than any writer makes. ERR_IO: the disk could not read
 * it.
 */
NODISCARD int tables_get(struct tables *t, const struct table_place *place,
			 struct table_ref **out, struct err *err);

/* Take another reference, and return it. NULL stays NULL. */
struct table_ref *table_ref(struct table_ref *ref);

/* Release a reference. NULL is a no-op. */
void table_unref(struct table_ref *ref);

/*
 * Evict all tables of an owner that is about to be freed. A table that still
 * has references is not found any more, and freed with its last reference.
 */
void tables_forget(struct tables *t, const void *owner);

#endif
