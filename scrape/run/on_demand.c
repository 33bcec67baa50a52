/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles requests of scrape_now(): finds the target, and keeps the list of
 * requests whose scrapes have not started. The list is scraper.asked, in order
 * of arrival; scraper.mu guards it.
 */
#include "scrape/run/on_demand.h"

#include "base/mem.h"
#include "base/mutex.h"
#include "scrape/run/scraper.h"
#include "scrape/run/target_pools.h"

#define ASKS_MAX 4 /* maximum number of requests that have not ended */

/*
 * Report the outcome. From now on the request does not count towards ASKS_MAX.
 */
void on_demand_end(struct scraper *s, struct scrape_request *a, int rc,
		   const struct err *err, int64_t ms)
{
	static const struct err none;

	mutex_lock(&s->mu);
	s->asking--;
	mutex_unlock(&s->mu);
	scrape_request_end(a, rc ? err : &none, ms);
	scrape_request_unref(a);
}

/*
 * Requests whose target is being scraped are skipped, because a target must not
 * be scraped twice at the same time.
 */
struct scrape_request *on_demand_take(struct scraper *s)
{
	struct scrape_request **at;
	struct scrape_request *a = NULL;

	mutex_lock(&s->mu);
	for (at = &s->asked; *at && (*at)->target->running;)
		at = &(*at)->next;
	if (*at) {
		a = *at;
		*at = a->next;
		a->target->running = true;
	}
	mutex_unlock(&s->mu);
	return a;
}

/* The loop and the workers have ended, so the list needs no lock. */
void on_demand_refuse_all(struct scraper *s)
{
	struct scrape_request *a;
	struct err err;

	err_set(&err, ERR_CLOSED, "everprof is shutting down");
	while ((a = s->asked)) {
		s->asked = a->next;
		on_demand_end(s, a, ERR_CLOSED, &err, 0);
	}
}

/*
 * Find the first target that all matchers match, and take a reference on it;
 * *count is set to the number of matching targets. Index pages (/debug/pprof/)
 * and targets that a limit refuses do not count.
 */
static struct target *find_target(struct scraper *s,
				  const struct scrape_now_options *w,
				  size_t *count)
{
	struct target *found = NULL;
	size_t jobs;
	struct snapshot *v = snapshot_take(s, &jobs);

	*count = 0;
	for (size_t i = 0; i < jobs; i++) {
		for (size_t k = 0; k < v[i].set->count; k++) {
			struct target *t = v[i].set->v[k].target;

			if (!t || t->refused || t->spec.is_index ||
			    !matchers_match(w->matchers, w->count,
					    t->spec.labels))
				continue;
			if (!(*count)++)
				found = target_ref(t);
		}
	}
	snapshot_free(v, jobs);
	return found;
}

/*
 * Append a request to the list, which takes its own reference. ERR_LIMIT:
 * ASKS_MAX earlier requests have not ended. ERR_CLOSED: the scraper is
 * stopping.
 */
static int on_demand_submit(struct scraper *s, struct scrape_request *a,
			    struct err *err)
{
	struct scrape_request **at;
	int rc = 0;

	mutex_lock(&s->mu);
	for (at = &s->asked; *at;)
		at = &(*at)->next;
	if (atomic_load(&s->stopping)) {
		rc = err_set(err, ERR_CLOSED, "everprof is shutting down");
	} else if (s->asking < ASKS_MAX) {
		*at = scrape_request_ref(a);
		s->asking++;
	} else {
		rc = err_set(
			err, ERR_LIMIT,
			"too many scrapes on demand: %d are in progress; retry later",
			ASKS_MAX);
	}
	mutex_unlock(&s->mu);
	return rc;
}

int scrape_now(struct scraper *s, const struct scrape_now_options *w,
	       struct labels **labels, int64_t *ms, struct err *err)
{
	size_t count;
	struct target *t = find_target(s, w, &count);
	struct scrape_request *a;
	int rc;

	if (count != 1) {
		target_unref(t);
		return err_set(
			err, count ? ERR_INVALID : ERR_NOTFOUND,
			count ? "%zu targets match; exactly one must match the selector (/api/v1/targets lists all targets)" :
				"%zu targets match the selector; /api/v1/targets lists all targets",
			count);
	}
	a = scrape_request_new(t, w->seconds);
	rc = on_demand_submit(s, a, err);
	if (!rc) {
		http_wake(s->client);
		rc = scrape_request_wait(a, w->deadline_ns, ms, err);
	}
	if (!rc)
		*labels = labels_ref(t->spec.labels);
	scrape_request_unref(a);
	target_unref(t);
	return rc;
}
