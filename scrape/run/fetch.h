/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fetch: one scrape of one target, from the request to the stored profile.
 *
 * Ownership: those of the scraper.
 * Threads: the loop's thread begins it, a worker ends it.
 */
#ifndef SCRAPE_RUN_FETCH_H
#define SCRAPE_RUN_FETCH_H

#include "scrape/run/scraper.h"

/*
 * fetch.c: begin a scrape of a target that is marked as running. ask: NULL
 * when it is due; else it is told, and the scraper's reference given back.
 */
void fetch_start(struct scraper *s, struct target *t, int64_t due_ms,
		 struct scrape_request *ask);

#endif
