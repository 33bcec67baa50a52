/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cache of dictionary tables: a stripe's table is opened once and shared by all
 * readers of its chunks. While all tables together exceed a memory limit, the
 * least recently used table that no reader holds is evicted.
 *
 * Ownership: tables are reference counted. Each user of a table, or of rows
 * (decoded chunks that refer to a table), holds a reference; the table is not
 * evicted before the last reference is released. All references must be
 * released before the cache is freed.
 * Threads: any; locks inside.
 */
#ifndef TSDB_CHUNK_TABLES_H
#define TSDB_CHUNK_TABLES_H

#include "base/file.h"
#include "model/codec.h"
#include "tsdb/chunk/chunk_meta.h"

struct tables;

/* A counted reference to an open table. The table is immutable. */
struct table_ref {
	struct codec_table *table;
};

/*
 * Create a cache for the tables of one codec; the caller owns the cache. `max`
 * is the memory limit in bytes above which unused tables are evicted.
 */
struct tables *tables_new(const struct codec *codec, size_t max);

/*
 * Free the cache and all its tables; no reference may be left. NULL is a no-op.
 */
void tables_free(struct tables *t);

/*
 * The place where a table is stored. The cache finds a table by `owner`,
 * `number` and `at.offset`.
 */
struct table_place {
	/*
	 * The block that owns the file. It must call tables_forget() before it
	 * is freed.
	 */
	const void *owner;
	uint32_t number; /* number of the file in its block */
	const struct file *file;
	struct chunk_table at;
};

/*
 * Get the table at a place, from the cache or, verified by its checksum, from
 * the file. The caller releases *out with table_unref(). ERR_CORRUPT: the table
 * is damaged, or larger than writers make them. ERR_IO: the disk could not read
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
 * has references is no longer found by tables_get(), and is freed when its last
 * reference is released.
 */
void tables_forget(struct tables *t, const void *owner);

#endif
