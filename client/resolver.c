/* SPDX-License-Identifier: Apache-2.0 */
#include "client/resolver.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/table.h"
#include "base/vec.h"

#define THREADS_MAX 16
#define SLOW_MAX    (THREADS_MAX / 2)
#define UNKNOWN_MAX (THREADS_MAX / 4 * 3)
#define SLOW_NS     1000000000LL
#define KEEP_NS     30000000000LL /* an answer */
#define FAILED_NS   2000000000LL  /* a failure */
#define NAMES_MAX   100000        /* then those that nobody waits for go */

struct asker {
	resolver_fn fn;
	void *ctx;
};

/* A name, while it is known. */
struct entry {
	char *name;
	VEC(struct asker) askers;
	char *addresses; /* NULL: none, or none yet */
	struct err err;
	int64_t until_ns; /* 0: nothing is known */
	bool wanted;      /* waits for a thread, or has one */
	bool slow;
};

/* One lookup: its thread's until it is done. */
struct lookup {
	struct shared *shared;
	char *name;
	uint32_t entry;
	int64_t took_ns;
	char *addresses;
	struct err err;
	struct lookup *next;
};

/* What threads know of the resolver, which may be gone. */
struct shared {
	_Atomic uint32_t refs;
	pthread_mutex_t mu;
	struct lookup *done;
	void (*wake)(void *ctx); /* NULL: the resolver is gone */
	void *ctx;
};

struct resolver {
	struct shared *shared;
	VEC(struct entry) entries;
	struct table by_name;
	VEC(uint32_t) queue; /* entries that wait for a thread */
	unsigned running;
	unsigned slow_running;
};

static void shared_unref(struct shared *s)
{
	if (atomic_fetch_sub(&s->refs, 1) > 1)
		return;
	pthread_mutex_destroy(&s->mu);
	mem_free(s);
}

static void lookup_free(struct lookup *l)
{
	mem_free(l->name);
	mem_free(l->addresses);
	mem_free(l);
}

struct resolver *resolver_new(void (*wake)(void *ctx), void *ctx)
{
	struct resolver *r = mem_new(struct resolver);

	r->shared = mem_new(struct shared);
	atomic_init(&r->shared->refs, 1);
	pthread_mutex_init(&r->shared->mu, NULL);
	r->shared->wake = wake;
	r->shared->ctx = ctx;
	return r;
}

static struct lookup *take_done(struct shared *s)
{
	struct lookup *all;

	pthread_mutex_lock(&s->mu);
	all = s->done;
	s->done = NULL;
	pthread_mutex_unlock(&s->mu);
	return all;
}

static void forget_names(struct resolver *r)
{
	for (size_t i = 0; i < r->entries.count; i++) {
		vec_fini(&r->entries.v[i].askers);
		mem_free(r->entries.v[i].name);
		mem_free(r->entries.v[i].addresses);
	}
	r->entries.count = 0;
	table_fini(&r->by_name);
}

void resolver_free(struct resolver *r)
{
	struct lookup *next;

	if (!r)
		return;
	pthread_mutex_lock(&r->shared->mu);
	r->shared->wake = NULL;
	pthread_mutex_unlock(&r->shared->mu);
	for (struct lookup *l = take_done(r->shared); l; l = next) {
		next = l->next;
		lookup_free(l);
	}
	forget_names(r);
	vec_fini(&r->entries);
	vec_fini(&r->queue);
	shared_unref(r->shared);
	mem_free(r);
}

/* A lookup's thread. */

static void add_address(struct buf *out, const struct sockaddr *a)
{
	char text[INET6_ADDRSTRLEN] = "";
	const void *bytes =
		a->sa_family == AF_INET6 ?
			(const void *)&((const struct sockaddr_in6 *)a)
				->sin6_addr :
			(const void *)&((const struct sockaddr_in *)a)
				->sin_addr;

	if (!inet_ntop(a->sa_family, bytes, text, sizeof(text)))
		return;
	buf_printf(out, a->sa_family == AF_INET6 ? "%s[%s]" : "%s%s",
		   out->len ? "," : "", text);
}

static void look_up(struct lookup *l)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
					.ai_flags = AI_ADDRCONFIG };
	struct addrinfo *found = NULL;
	struct buf text = { 0 };
	int rc = getaddrinfo(l->name, NULL, &hints, &found);

	for (const struct addrinfo *a = found; a; a = a->ai_next) {
		if (a->ai_family == AF_INET || a->ai_family == AF_INET6)
			add_address(&text, a->ai_addr);
	}
	if (found)
		freeaddrinfo(found);
	if (text.len)
		l->addresses = mem_strdup(buf_cstr(&text));
	else
		err_set(&l->err, ERR_AGAIN, "could not resolve host %s: %s",
			l->name, rc ? gai_strerror(rc) : "it has no address");
	buf_fini(&text);
}

static void *run(void *arg)
{
	struct lookup *l = arg;
	struct shared *s = l->shared;
	int64_t began = clock_mono_ns();

	pthread_setname_np(pthread_self(), "resolve");
	look_up(l);
	l->took_ns = clock_mono_ns() - began;
	pthread_mutex_lock(&s->mu);
	if (s->wake) {
		l->next = s->done;
		s->done = l;
		s->wake(s->ctx);
		l = NULL;
	}
	pthread_mutex_unlock(&s->mu);
	if (l)
		lookup_free(l);
	shared_unref(s);
	return NULL;
}

/* The loop's. */

static bool begin(struct resolver *r, uint32_t entry)
{
	struct lookup *l = mem_new(struct lookup);
	pthread_attr_t attr;
	pthread_t thread;
	int rc;

	l->shared = r->shared;
	l->name = mem_strdup(r->entries.v[entry].name);
	l->entry = entry;
	atomic_fetch_add(&r->shared->refs, 1);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	rc = pthread_create(&thread, &attr, run, l);
	pthread_attr_destroy(&attr);
	if (rc) {
		lookup_free(l);
		shared_unref(r->shared);
		return false;
	}
	r->running++;
	r->slow_running += r->entries.v[entry].slow;
	return true;
}

/* Some are left for names that are known to be quick. */
static bool has_thread(const struct resolver *r, const struct entry *e)
{
	bool quick = e->until_ns && !e->slow;

	return r->running < (quick ? THREADS_MAX : UNKNOWN_MAX) &&
	       (!e->slow || r->slow_running < SLOW_MAX);
}

/* As many as there are threads for, those that came first first. */
static void begin_all(struct resolver *r)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->queue.count; i++) {
		uint32_t n = r->queue.v[i];
		struct entry *e = &r->entries.v[n];

		if (!e->askers.count)
			e->wanted = false; /* nobody waits any more */
		else if (!has_thread(r, e) || !begin(r, n))
			r->queue.v[kept++] = n;
	}
	r->queue.count = kept;
}

static bool same_name(const void *ctx, uint32_t number, const void *name)
{
	const struct resolver *r = ctx;

	return !strcmp(r->entries.v[number].name, name);
}

static struct entry *find_entry(struct resolver *r, const char *name)
{
	uint64_t hash = hash64(bytes_of(str_of(name)));
	uint32_t n = table_find(&r->by_name, hash, same_name, r, name);

	if (n != TABLE_NONE)
		return &r->entries.v[n];
	/* Numbers of entries are those of lookups: all of them, or none. */
	if (r->entries.count >= NAMES_MAX && !r->running && !r->queue.count)
		forget_names(r);
	table_add(&r->by_name, hash, (uint32_t)r->entries.count);
	*vec_add(&r->entries) = (struct entry){ .name = mem_strdup(name) };
	return &r->entries.v[r->entries.count - 1];
}

void resolver_ask(struct resolver *r, const char *name, resolver_fn fn,
		  void *ctx)
{
	struct entry *e = find_entry(r, name);

	if (e->until_ns && clock_mono_ns() < e->until_ns) {
		fn(ctx, e->addresses, e->addresses ? NULL : &e->err);
		return;
	}
	*vec_add(&e->askers) = (struct asker){ fn, ctx };
	if (!e->wanted)
		*vec_add(&r->queue) = (uint32_t)(e - r->entries.v);
	e->wanted = true;
	begin_all(r);
}

void resolver_forget(struct resolver *r, const char *name, const void *ctx)
{
	struct entry *e = find_entry(r, name);

	for (size_t k = e->askers.count; k-- > 0;) {
		if (e->askers.v[k].ctx == ctx)
			e->askers.v[k] = e->askers.v[--e->askers.count];
	}
}

/* Takes over what the lookup found. */
static void learn(struct resolver *r, struct lookup *l)
{
	struct entry *e = &r->entries.v[l->entry];

	r->running--;
	r->slow_running -= e->slow;
	e->slow = l->took_ns > SLOW_NS;
	e->until_ns = clock_mono_ns() + (l->addresses ? KEEP_NS : FAILED_NS);
	e->err = l->err;
	/* Without a name server the last addresses go on. */
	if (l->addresses) {
		mem_free(e->addresses);
		e->addresses = l->addresses;
		l->addresses = NULL;
	}
	e->wanted = false;
}

/* Askers may ask again meanwhile, and entries move. */
static void tell(struct resolver *r, uint32_t n)
{
	while (r->entries.v[n].askers.count) {
		struct entry *e = &r->entries.v[n];
		struct asker a = e->askers.v[--e->askers.count];
		char *addresses = e->addresses ? mem_strdup(e->addresses) :
						 NULL;
		struct err err = e->err;

		a.fn(a.ctx, addresses, addresses ? NULL : &err);
		mem_free(addresses);
	}
}

void resolver_poll(struct resolver *r)
{
	struct lookup *next;

	for (struct lookup *l = take_done(r->shared); l; l = next) {
		next = l->next;
		learn(r, l);
		tell(r, l->entry);
		lookup_free(l);
	}
	begin_all(r);
}
