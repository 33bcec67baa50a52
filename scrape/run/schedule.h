/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schedule: the loop of the scraper. It starts each target when it is due.
 *
 * Ownership: those of the scraper.
 * Threads: the loop's thread.
 */
#ifndef SCRAPE_RUN_SCHEDULE_H
#define SCRAPE_RUN_SCHEDULE_H

#include "scrape/run/scraper.h"

/* schedule.c: the loop, until the scraper stops. */
void *schedule_run(void *scraper);

void schedule_free(struct scraper *s);

#endif
