/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of scrape requests whose scrapes have not started. A scrape request
 * asks for a profile now, outside the schedule.
 *
 * Ownership: the list holds one reference on each request.
 * Threads: any; the list is guarded by scraper.mu.
 */
#ifndef SCRAPE_RUN_ON_DEMAND_H
#define SCRAPE_RUN_ON_DEMAND_H

#include "scrape/run/scrape.h"
#include "scrape/run/scraper.h"

/*
 * End a request: report `err` (if `rc` is not 0) or `ms`, the time of the
 * profile, to the waiting caller, and drop the scraper's reference.
 */
void on_demand_end(struct scraper *s, struct scrape_request *a, int rc,
		   const struct err *err, int64_t ms);

/*
 * Remove from the list the first request whose target is not being scraped, and
 * mark that target as running. NULL: the list has no such request. The caller
 * must start the scrape, and takes over the scraper's reference on the request.
 */
struct scrape_request *on_demand_take(struct scraper *s);

/*
 * End with ERR_CLOSED all requests whose scrapes never started. Called when the
 * loop has ended.
 */
void on_demand_refuse_all(struct scraper *s);

#endif
