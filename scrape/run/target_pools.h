/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target pools: the jobs of the configuration with their targets, and the
 * functions that replace or list them.
 *
 * Ownership: the scraper owns the pools; a snapshot belongs to its caller.
 * Threads: any, under the locks that are named at each function.
 */
#ifndef SCRAPE_RUN_TARGET_POOLS_H
#define SCRAPE_RUN_TARGET_POOLS_H

#include "scrape/run/scrape.h"
#include "scrape/run/scraper.h"

/*
 * Rebuild the target sets of all jobs whose profile types come from index pages
 * (/debug/pprof/). The caller holds scraper.update_mu.
 */
void target_pools_regroup(struct scraper *s) REQUIRES(s->update_mu);

/* Free all pools; the threads of the scraper have ended. */
void target_pools_free(struct scraper *s);

/*
 * Copy the names of all jobs and take references on their target sets, so that
 * a caller can use the sets without holding scraper.mu. *count is the number of
 * jobs; the caller owns the result (snapshot_free()).
 */
struct snapshot *snapshot_take(struct scraper *s, size_t *count);

/* Free a snapshot and drop its references. */
void snapshot_free(struct snapshot *v, size_t count);

#endif
