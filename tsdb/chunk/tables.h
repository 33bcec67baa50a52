/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables: stripes' tables, opened once and kept for the next reader, the one
 * not used for longest going first when they take too much.
 *
 * Ownership: a reader holds what it got until tables_put().
 * Threads: any.
 */
#ifndef TSDB_CHUNK_TABLES_H
#define TSDB_CHUNK_TABLES_H

#include "base/file.h"
#include "model/codec.h"
#include "tsdb/chunk/chunk_meta.h"

struct tables;

/* An opened table, held by its readers. */
struct table_ref {
	struct codec_table *table;
};

/* codec: whose tables they are; max: bytes of those that nobody holds. */
struct tables *tables_new(const struct codec *codec, size_t max);
void tables_free(struct tables *t);

/* Where a table is. */
struct table_place {
	const void *owner; /* whose file it is, until tables_forget() */
	uint32_t number;   /* of the file, among the owner's */
	const struct file *file;
	struct chunk_table at;
};

/* The table at a place, verified. ERR_CORRUPT, ERR_IO. */
NODISCARD int tables_get(struct tables *t, const struct table_place *place,
			 struct table_ref **out, struct err *err);
void tables_put(struct tables *t, struct table_ref *ref);

/* The owner goes; nobody reads its tables any more. */
void tables_forget(struct tables *t, const void *owner);

#endif
