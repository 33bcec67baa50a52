/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ask: a profile that somebody wants now, between the scrapes that are due. He
 * waits; the scraper's loop takes it up and a worker ends it.
 *
 * Ownership: reference counted, by who waits and by the scraper.
 * Threads: any.
 */
#ifndef SCRAPE_RUN_SCRAPE_REQUEST_H
#define SCRAPE_RUN_SCRAPE_REQUEST_H

#include <pthread.h>

#include "scrape/target/target.h"

struct scrape_request {
	_Atomic uint32_t refs;
	struct target *target;
	char *url; /* the target's, with seconds of its own */
	int64_t timeout_ms;
	struct scrape_request *next; /* in the scraper's list */

	pthread_mutex_t mu;
	pthread_cond_t ended;
	bool has_ended;
	struct err err; /* code 0: the profile is stored */
	int64_t ms;     /* its time */
};

/* seconds: how long a profile shall take; -1: as it always does. */
struct scrape_request *scrape_request_new(struct target *t, int64_t seconds);
struct scrape_request *scrape_request_ref(struct scrape_request *a);
void scrape_request_unref(struct scrape_request *a); /* NULL is a no-op */

/* It has ended: with a profile of that time, or with an error. */
void scrape_request_end(struct scrape_request *a, const struct err *err,
			int64_t ms);

/* Wait for its end. ERR_TIMEOUT, or what it ended with. */
NODISCARD int scrape_request_wait(struct scrape_request *a, int64_t deadline_ns,
				  int64_t *ms, struct err *err);

/* A URL with another value of its parameter seconds. The caller's. */
char *scrape_request_url(const char *url, int64_t seconds);

#endif
