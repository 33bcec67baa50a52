/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Type updates: when the index page (/debug/pprof/) of a target names other
 * types than before, the target set of its job is rebuilt, at most once a
 * second for all jobs (docs/decisions.md, 71).
 *
 * Ownership: a queued update holds references on the target and on its types.
 * Threads: any; the queue is guarded by scraper.mu.
 */
#ifndef SCRAPE_RUN_TYPE_UPDATE_H
#define SCRAPE_RUN_TYPE_UPDATE_H

#include "scrape/run/scraper.h"

/*
 * Queue the types that the index page of the target `index` named, and wake the
 * loop. Takes over the caller's reference on `types`.
 */
void type_update_add(struct scraper *s, struct target *index,
		     struct profile_list *types);

/*
 * Pass the queued updates to a worker, if there are any and the last updates
 * were passed long enough ago. Returns the number of ms after which the loop
 * must call this function again at the latest; INT64_MAX: nothing is queued.
 * Called by the loop alone.
 */
int64_t type_update_start(struct scraper *s);

/* Drop the updates that are still queued. */
void type_update_free(struct scraper *s);

#endif
