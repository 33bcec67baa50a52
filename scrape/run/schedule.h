/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schedule: the event loop of the scraper, which starts each target when it is
 * due.
 *
 * Ownership: the heap of due times belongs to the loop and holds references on
 * its targets.
 * Threads: the loop's thread; schedule_free() after it has ended.
 */
#ifndef SCRAPE_RUN_SCHEDULE_H
#define SCRAPE_RUN_SCHEDULE_H

#include "scrape/run/scraper.h"

/*
 * The body of the loop's thread; runs until scraper.stopping is set. The
 * argument is the struct scraper; returns NULL.
 */
void *schedule_run(void *scraper);

/* Free the heap and drop its references on targets. */
void schedule_free(struct scraper *s);

#endif
