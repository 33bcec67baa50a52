/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request of scrape_now(): created by the waiting caller, ended by a worker,
 * freed by whichever of the two drops the last reference.
 */
#include "scrape/run/scrape_request.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/mutex.h"

#define SECONDS "seconds="
/* how often a waiting caller asks its limits, in ns */
#define ASK_NS 100000000LL

/*
 * "seconds=" is searched only at the start of a parameter, so that it does not
 * match within another name or value.
 */
char *scrape_request_url(const char *url, int64_t seconds)
{
	const char *query = strchr(url, '?');
	const char *at = query;
	const char *rest;

	while (at && strncmp(at + 1, SECONDS, strlen(SECONDS)) != 0)
		at = strchr(at + 1, '&');
	if (!at)
		return mem_printf("%s%c" SECONDS "%lld", url, query ? '&' : '?',
				  (long long)seconds);
	rest = strchrnul(at + 1, '&');
	return mem_printf("%.*s" SECONDS "%lld%s", (int)(at + 1 - url), url,
			  (long long)seconds, rest);
}

/*
 * The target's timeout already includes the duration of its scheduled profiles,
 * so only the difference between `seconds` and that duration is added.
 */
struct scrape_request *scrape_request_new(struct target *t, int64_t seconds)
{
	struct scrape_request *a = mem_new(struct scrape_request);

	atomic_init(&a->refs, 1);
	mutex_init(&a->mu);
	clock_cond_init(&a->ended);
	a->target = target_ref(t);
	a->timeout_ms = t->spec.timeout_ms;
	if (seconds < 0) {
		a->url = mem_strdup(t->spec.url);
	} else {
		a->url = scrape_request_url(t->spec.url, seconds);
		a->timeout_ms += (seconds - t->spec.seconds) * 1000;
	}
	return a;
}

struct scrape_request *scrape_request_ref(struct scrape_request *a)
{
	atomic_fetch_add(&a->refs, 1);
	return a;
}

void scrape_request_unref(struct scrape_request *a)
{
	if (!a || atomic_fetch_sub(&a->refs, 1) > 1)
		return;
	target_unref(a->target);
	mem_free(a->url);
	mutex_destroy(&a->mu);
	pthread_cond_destroy(&a->ended);
	mem_free(a);
}

void scrape_request_end(struct scrape_request *a, const struct err *err,
			int64_t ms)
{
	mutex_lock(&a->mu);
	a->has_ended = true;
	a->err = *err;
	a->ms = ms;
	pthread_cond_signal(&a->ended);
	mutex_unlock(&a->mu);
}

/*
 * Wait a moment for the end of the request, at most until the deadline. Returns
 * whether the request has ended.
 */
static bool wait_moment(struct scrape_request *a, int64_t deadline_ns)
{
	int64_t moment_ns = clock_mono_ns() + ASK_NS;
	struct timespec at = clock_mono_at(
		moment_ns < deadline_ns ? moment_ns : deadline_ns);
	bool has_ended;
	int rc = 0;

	mutex_lock(&a->mu);
	while (!a->has_ended && rc != ETIMEDOUT)
		rc = mutex_wait_until(&a->mu, &a->ended, &at);
	has_ended = a->has_ended;
	mutex_unlock(&a->mu);
	return has_ended;
}

/*
 * A caller that gives up only drops its reference: the scrape goes on, and its
 * profile is stored.
 */
int scrape_request_wait(struct scrape_request *a,
			const struct scrape_now_options *w, int64_t *ms,
			struct err *err)
{
	int rc = 0;

	while (!rc && !wait_moment(a, w->deadline_ns) &&
	       clock_mono_ns() < w->deadline_ns)
		rc = limits_spend(&w->limits, 0, err);
	if (rc)
		return rc;
	mutex_lock(&a->mu);
	if (!a->has_ended)
		rc = err_set(
			err, ERR_TIMEOUT,
			"the target's profile did not arrive in time (--query.timeout); the scrape goes on, and stores the profile if it arrives");
	else if (a->err.code)
		rc = err_set(err,
			     /*
			      * ERR_INVALID would mean that the caller's request
			      * is wrong, but it is the target's answer that is
			      * wrong.
			      */
			     a->err.code == ERR_INVALID ? ERR_AGAIN :
							  a->err.code,
			     "the scrape failed: %s", a->err.msg);
	*ms = a->ms;
	mutex_unlock(&a->mu);
	return rc;
}
