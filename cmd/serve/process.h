/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics of the process and of storage as a whole: process_*, build
 * information, sizes of storage.
 *
 * Ownership: borrows the registry and the database.
 * Threads: registered once at startup; the gauges are read by any thread.
 */
#ifndef CMD_SERVE_PROCESS_H
#define CMD_SERVE_PROCESS_H

#include "base/metrics.h"
#include "tsdb/open/tsdb.h"

/*
 * Register the metrics; those of the database only if `db` is not NULL. The
 * database must outlive the last use of the registry.
 */
void process_register(struct metrics *m, struct tsdb *db);

#endif
