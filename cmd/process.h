/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics of the process and of the whole: process_*, build info, storage
 * sizes.
 *
 * Ownership: borrows the registry and the database.
 * Threads: called once at start; the gauges are read by any thread.
 */
#ifndef CMD_PROCESS_H
#define CMD_PROCESS_H

#include "base/metrics.h"
#include "tsdb/tsdb.h"

/* Both must outlive the registry's last use. */
void process_register(struct metrics *m, struct tsdb *db);

#endif
