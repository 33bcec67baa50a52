/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fetch: one scrape of one target, from the HTTP request to the stored profile.
 *
 * Ownership: a fetch frees itself when it has ended; it holds a reference on
 * its target.
 * Threads: started in the loop's thread, processed and ended by a worker.
 */
#ifndef SCRAPE_RUN_FETCH_H
#define SCRAPE_RUN_FETCH_H

#include "scrape/run/scraper.h"

/*
 * Start the scrape of a target that is already marked as running and was due at
 * due_ms. `ask` is NULL for a scheduled scrape. Otherwise `ask` is a request of
 * scrape_now(): the outcome of the scrape ends the request, and the scraper's
 * reference to the request is dropped. The outcome also becomes the health of
 * the target, except that a failure leaves the health unchanged if `ask` is
 * set.
 */
void fetch_start(struct scraper *s, struct target *t, int64_t due_ms,
		 struct scrape_request *ask);

#endif
