/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On demand: the list of scrape requests that wait for their start, between the
 * scrapes of the schedule.
 *
 * Ownership: the list holds one reference on each request.
 * Threads: any; the list is under scraper.mu.
 */
#ifndef SCRAPE_RUN_ON_DEMAND_H
#define SCRAPE_RUN_ON_DEMAND_H

#include "scrape/run/scraper.h"
#include "scrape/scrape.h"

/*
 * End a request: report the error (rc is not 0) or the time of the profile to
 * the waiting caller, and drop the scraper's reference.
 */
void on_demand_end(struct scraper *s, struct scrape_request *a, int rc,
		   const struct err *err, int64_t ms);

/*
 * Take the first request whose target is not being scraped out of the list and
 * mark that target as running. NULL: there is none. The caller must start it
 * and takes over the scraper's reference.
 */
struct scrape_request *on_demand_take(struct scraper *s);

/*
 * End all requests that were never started with ERR_CLOSED. Called when the
 * loop has ended.
 */
void on_demand_refuse_all(struct scraper *s);

#endif
