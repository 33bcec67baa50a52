/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On demand: scrapes that a person asks for, between those that are due.
 *
 * Ownership: those of the scraper.
 * Threads: any; the scraper's locks.
 */
#ifndef SCRAPE_RUN_ON_DEMAND_H
#define SCRAPE_RUN_ON_DEMAND_H

#include "scrape/run/scraper.h"
#include "scrape/scrape.h"

/* wish.c: who asked is told how it ended; gives the reference back. */
void on_demand_end(struct scraper *s, struct scrape_request *a, int rc,
		   const struct err *err, int64_t ms);

/* The next one whose target is not being scraped: it is marked as running. */
struct scrape_request *on_demand_take(struct scraper *s);

/* Those that never began. */
void on_demand_refuse_all(struct scraper *s);

#endif
