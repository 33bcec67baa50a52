/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of what scrapes cost by profile type: the bytes received and the
 * time taken (docs/decisions.md, 106).
 *
 * Ownership: the counters belong to the scraper.
 * Threads: any; the list is guarded by scraper.costs_mu.
 */
#ifndef SCRAPE_RUN_TYPE_COST_H
#define SCRAPE_RUN_TYPE_COST_H

#include "scrape/run/scraper.h"

/*
 * Make the list of counters with the type "other", which counts all types
 * beyond a maximum number of types.
 */
void type_cost_init(struct scraper *s);

/*
 * Count a scrape that has ended: the bytes of its body and its duration, for
 * the profile type of the target.
 */
void type_cost_add(struct scraper *s, const struct target *t, size_t bytes,
		   int64_t took_ns);

/* Free the list; the metrics stay with the registry. */
void type_cost_free(struct scraper *s);

#endif
