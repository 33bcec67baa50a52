/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target pools: the jobs of the configuration and their targets.
 *
 * Ownership: those of the scraper.
 * Threads: any; the scraper's locks.
 */
#ifndef SCRAPE_RUN_TARGET_POOLS_H
#define SCRAPE_RUN_TARGET_POOLS_H

#include "scrape/run/scraper.h"
#include "scrape/scrape.h"

/* Make the jobs anew whose targets name their types; making is held. */
void target_pools_regroup(struct scraper *s);

/* jobs.c */
void target_pools_free(struct scraper *s);

struct snapshot *snapshot_take(struct scraper *s, size_t *count);

void snapshot_free(struct snapshot *v, size_t count);

#endif
