/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics of the storage engine, registered when a database is opened.
 *
 * Ownership: borrows the database.
 * Threads: called once, before any other thread uses the database.
 */
#ifndef TSDB_DB_DB_METRICS_H
#define TSDB_DB_DB_METRICS_H

#include "tsdb/db/db.h"

void register_metrics(struct tsdb *db);

#endif
