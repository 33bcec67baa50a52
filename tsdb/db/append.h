/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Append: the write path. A sample is checked for duplicates, written to the
 * WAL, and inserted into the head of its window.
 *
 * Ownership: borrows the database.
 * Threads: any; append_mu serializes appends.
 */
#ifndef TSDB_DB_APPEND_H
#define TSDB_DB_APPEND_H

#include "tsdb/db/db.h"

NODISCARD int db_append(struct appender *a, const struct sample *s,
			uint64_t *lsn, struct err *err);

NODISCARD int db_sync(struct appender *a, uint64_t lsn, struct err *err);

#endif
