/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scrape request asks for a profile now, outside the schedule. The caller of
 * scrape_now() waits until the request has ended, the scraper's loop starts the
 * scrape, and a worker ends the request.
 *
 * Ownership: reference counted; the waiting caller and the scraper hold one
 * reference each.
 * Threads: any.
 */
#ifndef SCRAPE_RUN_SCRAPE_REQUEST_H
#define SCRAPE_RUN_SCRAPE_REQUEST_H

#include <pthread.h>

#include "base/mutex.h"
#include "scrape/run/scrape.h"
#include "scrape/target/target.h"

/*
 * A scrape request. The members after `mu` are guarded by `mu`, and the member
 * `next` by scraper.mu; the others are immutable.
 */
struct scrape_request {
	_Atomic uint32_t refs;
	struct target *target;
	char *url; /* URL of the target with the "seconds" of this request */
	int64_t timeout_ms;
	/* next element of the list scraper.asked */
	struct scrape_request *next;

	struct mutex mu;
	pthread_cond_t ended;
	bool has_ended;
	struct err err; /* error of the scrape; code 0: the profile is stored */
	int64_t ms;     /* timestamp of the profile */
};

/*
 * Make a request with one reference. `seconds` is the duration of the profile;
 * -1: the same as for the target's scheduled profiles.
 */
struct scrape_request *scrape_request_new(struct target *t, int64_t seconds);

/* Take a reference; returns `a`. */
struct scrape_request *scrape_request_ref(struct scrape_request *a);

/* Drop a reference; the last one frees the request. NULL is a no-op. */
void scrape_request_unref(struct scrape_request *a);

/*
 * Record the outcome and wake the waiting caller: a profile with the timestamp
 * `ms` when err->code is 0, an error otherwise.
 */
void scrape_request_end(struct scrape_request *a, const struct err *err,
			int64_t ms);

/*
 * Wait until the request has ended, the deadline of the caller has passed, or
 * the caller's limits end the wait, which are asked ten times a second. On
 * success *ms is the timestamp of the profile. ERR_TIMEOUT: the deadline has
 * passed; ERR_AGAIN: the target answered something invalid; an error of the
 * limits; otherwise the error of the scrape.
 */
NODISCARD int scrape_request_wait(struct scrape_request *a,
				  const struct scrape_now_options *w,
				  int64_t *ms, struct err *err);

/*
 * The URL with its parameter "seconds" replaced, or added if the URL has none.
 * The caller owns the result.
 */
char *scrape_request_url(const char *url, int64_t seconds);

#endif
