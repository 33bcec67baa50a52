/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Updates of the profile types that index pages (/debug/pprof/) name. Workers
 * queue the updates. At most once every PAUSE_MS, a worker takes update_mu and
 * applies the whole queue.
 */
#include "scrape/run/type_update.h"

#include "base/mem.h"
#include "base/mutex.h"
#include "scrape/run/scraper.h"
#include "scrape/run/target_pools.h"

#define PAUSE_MS 1000 /* minimum ms between two updates */

/* An entry of the queue: the types that one index page named. */
struct type_update {
	struct target *index;
	struct profile_list *types;
	struct type_update *next;
};

void type_update_add(struct scraper *s, struct target *index,
		     struct profile_list *types)
{
	struct type_update *f = mem_new(struct type_update);

	f->index = target_ref(index);
	f->types = types;
	mutex_lock(&s->mu);
	f->next = s->findings;
	s->findings = f;
	mutex_unlock(&s->mu);
	http_wake(s->client);
}

/* Remove all updates from the queue; the caller owns them. */
static struct type_update *take_all(struct scraper *s)
{
	struct type_update *all;

	mutex_lock(&s->mu);
	all = s->findings;
	s->findings = NULL;
	mutex_unlock(&s->mu);
	return all;
}

/* Free an update and drop its references. */
static void type_update_drop(struct type_update *f)
{
	target_unref(f->index);
	profile_list_unref(f->types);
	mem_free(f);
}

/*
 * Store the types in the target of the index page. Returns false if they have
 * not changed. Otherwise `f` holds the old types afterwards, which are freed
 * with `f`.
 */
static bool type_update_learn(struct type_update *f)
{
	struct profile_list *was = f->index->found;

	if (profile_list_eq(was, f->types))
		return false;
	f->index->found = f->types;
	f->types = was;
	return true;
}

/*
 * Run in a worker: apply the queued updates of profile types, and rebuild
 * the target sets if the types of any page have changed.
 */
static void type_update_regroup(void *scraper, unsigned worker UNUSED)
{
	struct scraper *s = scraper;
	bool news = false;
	struct type_update *f;
	struct type_update *next;

	mutex_lock(&s->update_mu);
	for (f = take_all(s); f; f = next) {
		next = f->next;
		news |= type_update_learn(f);
		type_update_drop(f);
	}
	if (news)
		target_pools_regroup(s);
	mutex_unlock(&s->update_mu);
	http_wake(s->client);
}

/*
 * Many targets may start at the same time, and their index pages then all name
 * new types. Therefore target sets are rebuilt at most once a second, not once
 * for each page.
 */
int64_t type_update_start(struct scraper *s)
{
	int64_t now = clock_mono_ns();
	int64_t wait = PAUSE_MS - (now - s->regrouped_ns) / 1000000;
	struct err err;
	bool any;

	mutex_lock(&s->mu);
	any = s->findings;
	mutex_unlock(&s->mu);
	if (!any)
		return INT64_MAX;
	if (wait > 0)
		return wait;
	/* If the queue of workers is full, try again after the pause. */
	if (!pool_submit(s->workers, NULL, type_update_regroup, s, &err))
		s->regrouped_ns = now;
	return PAUSE_MS;
}

void type_update_free(struct scraper *s)
{
	struct type_update *next;

	for (struct type_update *f = s->findings; f; f = next) {
		next = f->next;
		type_update_drop(f);
	}
}
