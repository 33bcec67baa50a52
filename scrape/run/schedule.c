/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop. It keeps a min-heap of the times at which targets are due, starts
 * scheduled scrapes, requested scrapes and type updates, and waits for sockets
 * with epoll through the HTTP client.
 */

#include "base/mutex.h"
#include "scrape/run/scraper.h"

#include "base/mem.h"
#include "scrape/run/on_demand.h"
#include "scrape/run/type_update.h"

#define WAIT_MS_MAX 10000

/*
 * A new index page (/debug/pprof/) is first scraped within this number of ms,
 * whatever its interval.
 */
#define INDEX_MS 5000

/* ms until a scrape request whose target was busy is tried again */
#define ASK_MS 50

/* The heap: heap[0] is due first; the children of i are 2i+1 and 2i+2. */

/* Restore the order of the heap after the due time of heap[i] has grown. */
static void sift_down(struct scraper *s, size_t i)
{
	for (;;) {
		size_t child = i * 2 + 1;
		struct target *t = s->heap[i];

		if (child >= s->count)
			return;
		if (child + 1 < s->count &&
		    s->heap[child + 1]->due_ms < s->heap[child]->due_ms)
			child++;
		if (t->due_ms <= s->heap[child]->due_ms)
			return;
		s->heap[i] = s->heap[child];
		s->heap[child] = t;
		i = child;
	}
}

/* Make a heap of an unordered array in linear time. */
static void heap_order(struct scraper *s)
{
	for (size_t i = s->count / 2; i-- > 0;)
		sift_down(s, i);
}

/*
 * Change the due time of a target, and its copy next_ms, which `mu` guards: the
 * status page reads it in another thread.
 */
static void set_due(struct scraper *s, struct target *t, int64_t due_ms)
{
	t->due_ms = due_ms;
	mutex_lock(&s->mu);
	t->next_ms = due_ms;
	mutex_unlock(&s->mu);
}

/*
 * Compute all due times again. After the clock was set back, the old due times
 * are too far in the future: nothing would be scraped until the clock reaches
 * them.
 */
static void schedule_reschedule(struct scraper *s, int64_t now)
{
	for (size_t i = 0; i < s->count; i++) {
		struct target *t = s->heap[i];

		set_due(s, t,
			target_next_due(t->hash, t->spec.interval_ms, now));
	}
	heap_order(s);
}

/* Empty the heap, and drop its references on targets. */
static void heap_drop(struct scraper *s)
{
	for (size_t i = 0; i < s->count; i++)
		target_unref(s->heap[i]);
	mem_free(s->heap);
	s->heap = NULL;
	s->count = 0;
}

/*
 * Add to the heap all targets of a set, except those that a limit refuses. The
 * caller has made room in the array.
 */
static void heap_add(struct scraper *s, const struct target_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		struct target *t = set->v[i].target;

		if (t && !t->refused)
			s->heap[s->count++] = target_ref(t);
	}
}

/*
 * The first due time of a new target. Index pages (/debug/pprof/) are scraped
 * early, because the job's other targets are known only after that.
 */
static int64_t first_due(const struct target *t, int64_t now)
{
	int64_t due = target_next_due(t->hash, t->spec.interval_ms, now);
	int64_t soon = target_next_due(t->hash, INDEX_MS, now);

	return t->spec.is_index && soon < due ? soon : due;
}

/*
 * Rebuild the heap from the current target sets. Targets that were in the heap
 * before keep their due time.
 */
static void heap_load(struct scraper *s)
{
	int64_t now = clock_ms(s->o.clock);
	size_t count = 0;

	heap_drop(s);
	mutex_lock(&s->mu);
	s->loaded = s->generation;
	for (size_t i = 0; i < s->pool_count; i++)
		count += s->pools[i]->set->active;
	s->heap = mem_zalloc(count + 1, sizeof(struct target *));
	for (size_t i = 0; i < s->pool_count; i++)
		heap_add(s, s->pools[i]->set);
	for (size_t i = 0; i < s->count; i++) {
		struct target *t = s->heap[i];

		if (t->due_ms)
			continue;
		t->due_ms = first_due(t, now);
		t->next_ms = t->due_ms;
	}
	mutex_unlock(&s->mu);
	heap_order(s);
}

/* Whether target sets have changed since the heap was built. */
static bool is_stale(struct scraper *s)
{
	bool stale;

	mutex_lock(&s->mu);
	stale = s->loaded != s->generation;
	mutex_unlock(&s->mu);
	return stale;
}

/* The functions below are the loop, which starts the scrapes that are due. */

/*
 * Mark the target as running; `next` is when it is due again. Returns false if
 * its previous scrape is still running; the new scrape is then counted as
 * skipped.
 */
static bool schedule_begin(struct scraper *s, struct target *t, int64_t next)
{
	bool free;

	mutex_lock(&s->mu);
	free = !t->running;
	t->running = true;
	t->skipped += !free;
	t->next_ms = next;
	mutex_unlock(&s->mu);
	return free;
}

/*
 * Start all scrapes that are due. Returns the number of ms until the next
 * target is due; WAIT_MS_MAX if there are no targets.
 */
static int64_t start_due(struct scraper *s)
{
	int64_t now = clock_ms(s->o.clock);

	while (s->count) {
		struct target *t = s->heap[0];
		int64_t due = t->due_ms;
		int64_t next =
			target_next_due(t->hash, t->spec.interval_ms, now);

		/*
		 * If the due time is later than the next regular due time, the
		 * clock was set back.
		 */
		if (due > next) {
			schedule_reschedule(s, now);
			continue;
		}
		if (due > now)
			return due - now;
		t->due_ms = next;
		if (schedule_begin(s, t, next))
			fetch_start(s, t, due, NULL);
		else
			metric_add(s->metrics.skipped, 1);
		sift_down(s, 0);
	}
	return WAIT_MS_MAX;
}

/*
 * Start the requested scrapes whose target is free. Returns how many ms the
 * loop may wait: at most ASK_MS while requests wait for busy targets, otherwise
 * `wait`.
 */
static int64_t start_asked(struct scraper *s, int64_t wait)
{
	struct scrape_request *a;
	bool more;

	while ((a = on_demand_take(s)))
		fetch_start(s, a->target, clock_ms(s->o.clock), a);
	mutex_lock(&s->mu);
	more = s->asked;
	mutex_unlock(&s->mu);
	return more && wait > ASK_MS ? ASK_MS : wait;
}

void *schedule_run(void *scraper)
{
	struct scraper *s = scraper;

	while (!atomic_load(&s->stopping)) {
		int64_t wait;
		int64_t regroup;

		if (is_stale(s))
			heap_load(s);
		wait = start_asked(s, start_due(s));
		regroup = type_update_start(s);
		wait = regroup < wait ? regroup : wait;
		http_poll(s->client, wait < WAIT_MS_MAX ? wait : WAIT_MS_MAX);
	}
	return NULL;
}

void schedule_free(struct scraper *s)
{
	heap_drop(s);
}
