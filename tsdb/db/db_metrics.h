/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This file registers the metrics of the storage engine when a database is
 * opened.
 *
 * Ownership: borrows the database.
 * Threads: called once, before any other thread uses the database.
 */
#ifndef TSDB_DB_DB_METRICS_H
#define TSDB_DB_DB_METRICS_H

#include "tsdb/db/db.h"

/*
 * Registers all counters of the database, and stores pointers to them in
 * db->metrics and db->env.
 */
void db_register_metrics(struct tsdb *db);

#endif
