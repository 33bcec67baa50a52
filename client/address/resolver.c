/* SPDX-License-Identifier: Apache-2.0 */
#include "client/address/resolver.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/mutex.h"
#include "client/address/resolver_lookup.h"
#include "client/address/resolver_private.h"

/*
 * A lookup that takes longer than SLOW_NS is slow. From then on, callers that
 * wait for it may receive a stale answer, if there is one; they receive it at
 * most LOOK_NS later.
 */
#define SLOW_NS   1000000000LL
#define LOOK_NS   (SLOW_NS / 4)
#define KEEP_NS   30000000000LL /* how long an answer is fresh, in ns */
#define FAILED_NS 2000000000LL  /* how long a failure is remembered, in ns */

/*
 * Age in ns up to which an answer is used. STALE_NS (five minutes): while a new
 * lookup is in progress. ORPHAN_NS (an hour): if the new lookup is slow or has
 * failed.
 */
#define STALE_NS  300000000000LL
#define ORPHAN_NS 3600000000000LL
#define HOST_MAX  253  /* longest host name as text, RFC 1035 3.1 */
#define NAMES_MIN 4096 /* number of cached names up to which none is evicted */

/*
 * Greatest number of lookup threads for each speed: for names whose last lookup
 * was quick, for names that were never looked up, and for names whose last
 * lookup was slow. The limits are separate, so that names of one speed cannot
 * starve the others (docs/decisions.md, 74).
 */
static const unsigned threads_max[] = {
	[SPEED_FAST] = 8,
	[SPEED_UNKNOWN] = 8,
	[SPEED_SLOW] = 4,
};

struct resolver *resolver_new(void (*wake)(void *ctx), void *ctx)
{
	struct resolver *r = mem_new(struct resolver);

	r->shared = mem_new(struct shared);
	atomic_init(&r->shared->refs, 1);
	mutex_init(&r->shared->mu);
	r->shared->wake = wake;
	r->shared->ctx = ctx;
	r->names_max = NAMES_MIN;
	r->now = clock_mono_ns;
	return r;
}

void resolver_set_now(struct resolver *r, int64_t (*now)(void))
{
	r->now = now;
}

size_t resolver_names(const struct resolver *r)
{
	return r->entries.count;
}

/* Return the list of finished lookups and leave an empty list. */
static struct lookup *take_done(struct shared *s)
{
	struct lookup *all;

	mutex_lock(&s->mu);
	all = s->done;
	s->done = NULL;
	mutex_unlock(&s->mu);
	return all;
}

/*
 * Free an entry. No lookup may be in progress for the entry (e->wanted is
 * false), except when the resolver itself is being freed: unfinished lookups
 * then no longer use their entries.
 */
static void resolver_entry_free(struct entry *e)
{
	vec_fini(&e->askers);
	mem_free(e->name);
	mem_free(e->addresses);
	mem_free(e);
}

void resolver_free(struct resolver *r)
{
	struct lookup *next;

	if (!r)
		return;
	mutex_lock(&r->shared->mu);
	/*
	 * This tells the threads that the resolver is gone: a lookup that ends
	 * from now on is freed by its thread.
	 */
	r->shared->wake = NULL;
	mutex_unlock(&r->shared->mu);
	for (struct lookup *l = take_done(r->shared); l; l = next) {
		next = l->next;
		lookup_free(l);
	}
	for (size_t i = 0; i < r->entries.count; i++)
		resolver_entry_free(r->entries.v[i]);
	vec_fini(&r->entries);
	table_fini(&r->by_name);
	shared_unref(r->shared);
	mem_free(r);
}

/*
 * Return the speed of a name. It changes only when the result of a lookup
 * arrives, so it is constant while the entry waits in a queue or is being
 * looked up.
 */
static enum lookup_speed resolver_speed(const struct entry *e)
{
	return !e->until_ns ? SPEED_UNKNOWN : e->slow ? SPEED_SLOW : SPEED_FAST;
}

/*
 * Start a detached thread for a lookup. The thread holds a reference to the
 * shared state, so it does not have to be joined. Returns false if no thread
 * could be created.
 */
static bool resolver_begin(struct resolver *r, struct entry *e)
{
	struct lookup *l = mem_new(struct lookup);
	pthread_attr_t attr;
	pthread_t thread;
	int rc;

	l->shared = r->shared;
	l->name = mem_strdup(e->name);
	l->entry = e;
	atomic_fetch_add(&r->shared->refs, 1);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	rc = pthread_create(&thread, &attr, lookup_run, l);
	pthread_attr_destroy(&attr);
	if (rc) {
		lookup_free(l);
		shared_unref(r->shared);
		return false;
	}
	r->running[resolver_speed(e)]++;
	return true;
}

/* Queue a lookup of a name, unless there is one already. */
static void resolver_enqueue(struct resolver *r, struct entry *e)
{
	struct queue *q = &r->queues[resolver_speed(e)];

	if (e->wanted)
		return;
	e->wanted = true;
	e->since_ns = r->now();
	e->next = NULL;
	if (q->first)
		q->last->next = e;
	else
		q->first = e;
	q->last = e;
}

/*
 * Return whether the addresses of a name, fresh or stale, may be given to a
 * caller now.
 */
static bool is_usable(const struct resolver *r, const struct entry *e)
{
	bool late = e->wanted && r->now() > e->since_ns + SLOW_NS;
	int64_t ns = e->failed || late ? ORPHAN_NS : STALE_NS;

	return e->addresses && r->now() < e->found_ns + ns;
}

/*
 * Start queued lookups of hosts of one speed, as many as the limit of threads
 * for this speed allows.
 */
static void begin_queue(struct resolver *r, enum lookup_speed p)
{
	struct queue *q = &r->queues[p];

	while (q->first && r->running[p] < threads_max[p]) {
		struct entry *e = q->first;

		/*
		 * Skip this lookup: all callers have withdrawn, and the name
		 * has no usable answer that the lookup would refresh.
		 */
		if (!e->askers.count && !is_usable(r, e))
			e->wanted = false;
		else if (!resolver_begin(r, e))
			/* no thread was created; the next poll tries again */
			return;
		q->first = e->next;
	}
}

/* Start queued lookups of all speeds. */
static void begin_all(struct resolver *r)
{
	for (enum lookup_speed p = SPEED_FAST; p < SPEED_COUNT; p++)
		begin_queue(r, p);
}

/* Callback of the hash table: compares a name with the name of an entry. */
static bool resolver_same_name(const void *ctx, uint32_t number,
			       const void *name)
{
	const struct resolver *r = ctx;

	return !strcmp(r->entries.v[number]->name, name);
}

/* Return the entry of a name, or NULL. */
static struct entry *find_entry(const struct resolver *r, const char *name)
{
	uint64_t hash = hash_key(bytes_of(str_of(name)));
	uint32_t n = table_find(&r->by_name, hash, resolver_same_name, r, name);

	return n == TABLE_NONE ? NULL : r->entries.v[n];
}

/*
 * Return whether an entry must not be evicted: a lookup of it is queued or in
 * progress, callers wait for it, or its answer can still be used.
 */
static bool resolver_is_needed(const struct resolver *r, const struct entry *e)
{
	return e->wanted || e->askers.count || r->now() < e->until_ns ||
	       is_usable(r, e);
}

/*
 * Evict entry number `i`. The last entry moves to this index, so the hash
 * table is updated for both entries.
 */
static void drop_entry(struct resolver *r, size_t i)
{
	size_t last = --r->entries.count;

	table_remove(&r->by_name, r->entries.v[i]->hash, (uint32_t)i);
	resolver_entry_free(r->entries.v[i]);
	if (i == last)
		return;
	r->entries.v[i] = r->entries.v[last];
	table_move(&r->by_name, r->entries.v[i]->hash, (uint32_t)last,
		   (uint32_t)i);
}

/*
 * Evict all unneeded entries. Each call scans all entries, but the next call
 * follows only when their number has doubled, so the average cost for each
 * added name is constant.
 */
static void drop_entries(struct resolver *r)
{
	for (size_t i = r->entries.count; i-- > 0;) {
		if (!resolver_is_needed(r, r->entries.v[i]))
			drop_entry(r, i);
	}
	r->names_max = r->entries.count * 2;
	if (r->names_max < NAMES_MIN)
		r->names_max = NAMES_MIN;
}

/* Add a name to the cache. */
static struct entry *add_entry(struct resolver *r, const char *name)
{
	struct entry *e = mem_new(struct entry);

	if (r->entries.count >= r->names_max)
		drop_entries(r);
	e->name = mem_strdup(name);
	e->hash = hash_key(bytes_of(str_of(name)));
	table_add(&r->by_name, e->hash, (uint32_t)r->entries.count);
	*vec_add(&r->entries) = e;
	return e;
}

/* Pass the result of the last lookup to a caller: addresses or the error. */
static void resolver_answer(const struct entry *e, resolver_fn fn, void *ctx)
{
	struct err err;

	if (e->addresses) {
		fn(ctx, e->addresses, NULL);
		return;
	}
	err_set(&err, ERR_AGAIN, "could not resolve host %s: %s", e->name,
		gai_strerror(e->failed));
	fn(ctx, NULL, &err);
}

/*
 * Schedule a check for the time when the lookup of `e` becomes slow, because
 * stale addresses of the name may be used from then on. The time is rounded to
 * a multiple of LOOK_NS, so that one check serves many lookups.
 */
static void look_later(struct resolver *r, const struct entry *e)
{
	int64_t at = e->since_ns + SLOW_NS + LOOK_NS;

	at -= at % LOOK_NS;
	if (e->addresses && at > r->now() && (!r->due_ns || at < r->due_ns))
		r->due_ns = at;
}

void resolver_ask(struct resolver *r, const char *name, resolver_fn fn,
		  void *ctx)
{
	struct entry *e = find_entry(r, name);
	struct err err;

	if (strlen(name) > HOST_MAX) {
		err_set(&err, ERR_INVALID,
			"host name %.32s… is longer than %d bytes", name,
			HOST_MAX);
		fn(ctx, NULL, &err);
		return;
	}
	if (!e)
		e = add_entry(r, name);
	if (e->until_ns && r->now() < e->until_ns) {
		resolver_answer(e, fn, ctx);
		return;
	}
	resolver_enqueue(r, e);
	if (is_usable(r, e)) {
		resolver_answer(e, fn, ctx);
	} else {
		/*
		 * No usable answer yet: the caller waits for the lookup, or for
		 * the moment when stale addresses may be used.
		 */
		*vec_add(&e->askers) = (struct asker){ fn, ctx };
		look_later(r, e);
	}
	begin_all(r);
}

/* Remove only the callers. The lookup continues, and its answer is cached. */
void resolver_forget(struct resolver *r, const char *name, const void *ctx)
{
	struct entry *e = find_entry(r, name);

	for (size_t k = e ? e->askers.count : 0; k-- > 0;) {
		if (e->askers.v[k].ctx == ctx)
			e->askers.v[k] = e->askers.v[--e->askers.count];
	}
}

/*
 * Return whether an error EAI_* says that the name does not exist. Stale
 * addresses must not be used then, because they may belong to another host by
 * now.
 */
static bool is_gone(int failed)
{
	return failed == EAI_NONAME || failed == EAI_NODATA;
}

/*
 * Store the result of a lookup in the entry of the name. If the lookup failed,
 * the old addresses are kept for as long as they may be used as stale
 * addresses.
 */
static void resolver_learn(struct resolver *r, struct lookup *l)
{
	struct entry *e = l->entry;

	/*
	 * The lookup was counted under the speed that the name had when the
	 * lookup began. The next lines may change the speed.
	 */
	r->running[resolver_speed(e)]--;
	e->slow = l->took_ns > SLOW_NS;
	e->until_ns = r->now() + (l->addresses ? KEEP_NS : FAILED_NS);
	e->failed = l->failed;
	if (l->addresses || is_gone(l->failed) || !is_usable(r, e)) {
		mem_free(e->addresses);
		e->addresses = l->addresses;
		e->found_ns = r->now();
		l->addresses = NULL;
	}
}

/*
 * Pass the answer to all callers that wait for a name. The callbacks may
 * remove callers, but not add any.
 */
static void resolver_log(struct entry *e)
{
	while (e->askers.count) {
		struct asker a = e->askers.v[--e->askers.count];

		resolver_answer(e, a.fn, a.ctx);
	}
}

/* Give stale addresses to callers whose lookup has become slow. */
static void tell_late(struct resolver *r)
{
	if (!r->due_ns || r->now() < r->due_ns)
		return;
	r->due_ns = 0;
	for (size_t i = 0; i < r->entries.count; i++) {
		struct entry *e = r->entries.v[i];

		if (e->askers.count && is_usable(r, e))
			resolver_log(e);
		else if (e->askers.count)
			look_later(r, e);
	}
}

int64_t resolver_due_ns(const struct resolver *r)
{
	return r->due_ns;
}

void resolver_poll(struct resolver *r)
{
	struct lookup *next;

	for (struct lookup *l = take_done(r->shared); l; l = next) {
		next = l->next;
		resolver_learn(r, l);
		resolver_log(l->entry);
		l->entry->wanted = false; /* now the entry may be evicted */
		lookup_free(l);
	}
	tell_late(r);
	begin_all(r);
}
