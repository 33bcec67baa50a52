/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles requests of scrape_now(): finds the target, and keeps the list of
 * requests whose scrapes have not started. The list is scraper.asked, in order
 * of arrival; scraper.mu guards it.
 */
#include "scrape/run/on_demand.h"

#include "base/mem.h"
#include "base/mutex.h"
#include "model/regex.h"
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
 * Request whose target is being scraped are skipped, because a target must not
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

/* The targets that the matchers of a caller match. */
struct target_search {
	const struct scrape_now_options *w;
	struct growth_meter meter;
	struct target *found; /* the first; the search holds a reference */
	size_t count;
};

/*
 * Look at the targets of one job. Index pages (/debug/pprof/) and targets that
 * a limit refuses do not count.
 */
static int target_search_look(struct target_search *x,
			      const struct target_set *set, struct err *err)
{
	const struct scrape_now_options *w = x->w;
	size_t work = 1;
	int rc = 0;

	for (size_t i = 0; i < w->count; i++)
		work += matcher_work(&w->matchers[i]);
	for (size_t k = 0; k < set->count && !rc; k++) {
		struct target *t = set->v[k].target;

		if (!t || t->refused || t->spec.is_index)
			continue;
		if (matchers_match(w->matchers, w->count, t->spec.labels) &&
		    !x->count++)
			x->found = target_ref(t);
		rc = limits_meter(&w->limits, &x->meter, work, 0, err);
	}
	return rc;
}

/*
 * Find the first target that all matchers match, and take a reference on it.
 * ERR_NOTFOUND, ERR_INVALID: not exactly one target matches.
 */
static int find_target(struct scraper *s, const struct scrape_now_options *w,
		       struct target **out, struct err *err)
{
	struct target_search x = { .w = w };
	size_t jobs;
	struct snapshot *v = snapshot_take(s, &jobs);
	int rc = 0;

	for (size_t i = 0; i < jobs && !rc; i++)
		rc = target_search_look(&x, v[i].set, err);
	for (size_t i = 0; i < w->count && !rc; i++)
		rc = regex_check_steps(w->matchers[i].regex, "selector", err);
	snapshot_free(v, jobs);
	if (!rc && x.count != 1)
		rc = err_set(
			err, x.count ? ERR_INVALID : ERR_NOTFOUND,
			x.count ?
				"%zu targets match the selector, but it must match exactly one (each profile type of an address is a target); /api/v1/targets lists all targets" :
				"%zu targets match the selector (profile lists, and targets that a limit refuses, do not count); /api/v1/targets lists all targets",
			x.count);
	if (rc)
		target_unref(x.found);
	else
		*out = x.found;
	return rc;
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
	struct target *t = NULL;
	struct scrape_request *a;
	int rc = find_target(s, w, &t, err);

	if (!t)
		return rc;
	a = scrape_request_new(t, w->seconds);
	rc = on_demand_submit(s, a, err);
	if (!rc) {
		http_wake(s->client);
		rc = scrape_request_wait(a, w, ms, err);
	}
	if (!rc)
		*labels = labels_ref(t->spec.labels);
	scrape_request_unref(a);
	target_unref(t);
	return rc;
}
