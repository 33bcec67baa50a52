/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What scrapes cost, by profile type: time, bytes and number.
 *
 * Ownership: those of the scraper.
 * Threads: any; costs_mu.
 */
#ifndef SCRAPE_RUN_TYPE_COST_H
#define SCRAPE_RUN_TYPE_COST_H

#include "scrape/run/scraper.h"

/* cost.c: a scrape of the target ended. */
void type_cost_init(struct scraper *s);

void type_cost_add(struct scraper *s, const struct target *t, size_t bytes,
		   int64_t took_ns);

void type_cost_free(struct scraper *s);

#endif
