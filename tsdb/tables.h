/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables: stripes' tables, opened once and kept for the next reader, the one
 * not used for longest going first when they take too much.
 *
 * Ownership: a reader holds what it got until tables_put().
 * Threads: any.
 */
#ifndef TSDB_TABLES_H
#define TSDB_TABLES_H

#include "base/file.h"
#include "model/codec.h"
#include "tsdb/head.h"

struct tables;

/* An opened table, held by its readers. */
struct table_ref {
	struct codec_table *table;
};

/* codec: whose tables they are; max: bytes of those that nobody holds. */
struct tables *tables_new(const struct codec *codec, size_t max);
void tables_free(struct tables *t);

/*
 * The table at a place of a file, verified. owner: whose file it is, until
 * tables_forget(). ERR_CORRUPT, ERR_IO.
 */
NODISCARD int tables_get(struct tables *t, const void *owner,
			 const struct file *f, uint32_t file,
			 const struct head_table *place, struct table_ref **out,
			 struct err *err);
void tables_put(struct tables *t, struct table_ref *ref);

/* The owner goes; nobody reads its tables any more. */
void tables_forget(struct tables *t, const void *owner);

#endif
