/* SPDX-License-Identifier: Apache-2.0 */
/* A single lookup: what becomes of the addresses that libc finds. */
#include <arpa/inet.h>
#include <netdb.h>
#include <pthread.h>
#include <sys/un.h>

#include "base/mem.h"
#include "client/address/resolver_lookup.h"
#include "tests/check.h"
#include "tests/mutex_state.h"

TestSuite(resolver_lookup, .timeout = 20);

/*
 * The answer that this test's getaddrinfo() gives, and the arguments that it
 * was called with.
 */
static const char *const *found; /* addresses; NULL ends them */
static int answer;               /* 0 or EAI_* */
static struct addrinfo asked;    /* the last hints */
static char asked_name[64];
static int freed; /* lists given back */

static struct addrinfo *make_address(const char *text)
{
	struct addrinfo *a = mem_new(struct addrinfo);
	struct sockaddr_storage *to = mem_new(struct sockaddr_storage);
	struct sockaddr_in *four = (void *)to;
	struct sockaddr_in6 *six = (void *)to;

	a->ai_addr = (void *)to;
	if (inet_pton(AF_INET, text, &four->sin_addr) == 1)
		a->ai_family = AF_INET;
	else if (inet_pton(AF_INET6, text, &six->sin6_addr) == 1)
		a->ai_family = AF_INET6;
	else
		a->ai_family = AF_UNIX;
	to->ss_family = (sa_family_t)a->ai_family;
	return a;
}

int getaddrinfo(const char *name, const char *service,
		const struct addrinfo *hints, struct addrinfo **out)
{
	struct addrinfo **end = out;

	cr_assert(!service);
	cr_expect(hints);
	asked = *hints;
	snprintf(asked_name, sizeof(asked_name), "%s", name);
	*out = NULL;
	if (answer)
		return answer;
	for (const char *const *f = found; *f; f++) {
		*end = make_address(*f);
		end = &(*end)->ai_next;
	}
	return 0;
}

void freeaddrinfo(struct addrinfo *a)
{
	freed++;
	while (a) {
		struct addrinfo *next = a->ai_next;

		mem_free(a->ai_addr);
		mem_free(a);
		a = next;
	}
}

/* The data shared with a resolver, and how often the resolver was woken. */
struct waking {
	struct shared *shared;
	int count;
	bool locked; /* the mutex was held when the resolver was woken */
};

static void on_wake(void *ctx)
{
	struct waking *w = ctx;

	w->count++;
	w->locked = !mutex_is_free(&w->shared->mu);
}

static struct shared *shared_new(struct waking *w)
{
	struct shared *s = mem_new(struct shared);

	*w = (struct waking){ .shared = s };
	atomic_init(&s->refs, 1);
	mutex_init(&s->mu);
	s->wake = on_wake;
	s->ctx = w;
	return s;
}

static void run_lookup(struct shared *s, const char *name)
{
	struct lookup *l = mem_new(struct lookup);

	l->shared = s;
	l->name = mem_strdup(name);
	atomic_fetch_add(&s->refs, 1);
	cr_expect(!lookup_run(l));
}

Test(resolver_lookup, addresses_are_written_as_curl_reads_them)
{
	static const struct {
		const char *const found[5];
		const char *text;
	} cases[] = {
		{ { "192.0.2.1" }, "192.0.2.1" },
		{ { "2001:db8::1" }, "[2001:db8::1]" },
		{ { "192.0.2.1", "2001:db8::1", "192.0.2.2" },
		  "192.0.2.1,[2001:db8::1],192.0.2.2" },
		{ { "2001:db8::2", "2001:db8::1" },
		  "[2001:db8::2],[2001:db8::1]" },
		{ { "::ffff:192.0.2.1" }, "[::ffff:192.0.2.1]" },
		{ { "0.0.0.0", "255.255.255.255" }, "0.0.0.0,255.255.255.255" },
		/* Addresses of other families are left out. */
		{ { "/unix", "192.0.2.1", "/unix" }, "192.0.2.1" },
		{ { "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" },
		  "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct waking w;
		struct shared *s = shared_new(&w);
		struct lookup *l;

		found = cases[i].found;
		freed = 0;
		run_lookup(s, "a.example");
		l = s->done;
		cr_assert(l);
		cr_assert(!l->next);
		cr_assert(w.count == 1);
		cr_expect(check_str(str_of(l->addresses), cases[i].text));
		cr_assert(!l->failed);
		cr_assert(l->took_ns >= 0);
		cr_expect(freed == 1);
		cr_expect(atomic_load(&s->refs) == 1, "its reference is gone");
		lookup_free(l);
		shared_unref(s);
	}
}

Test(resolver_lookup, only_families_that_the_machine_has_are_asked_for)
{
	static const char *const one[] = { "192.0.2.1", NULL };
	struct waking w;
	struct shared *s = shared_new(&w);

	found = one;
	run_lookup(s, "name.example");
	cr_expect(check_str(str_of(asked_name), "name.example"));
	cr_expect(asked.ai_flags & AI_ADDRCONFIG);
	cr_assert(asked.ai_socktype == SOCK_STREAM);
	cr_expect(!asked.ai_family);
	cr_expect(w.locked, "so that the resolver cannot go meanwhile");
	lookup_free(s->done);
	shared_unref(s);
}

Test(resolver_lookup, a_failure_keeps_its_reason)
{
	static const char *const none[] = { NULL };
	static const char *const other[] = { "/unix", NULL };
	static const struct {
		int answer;
		const char *const *found;
		int failed;
	} cases[] = {
		{ EAI_NONAME, none, EAI_NONAME },
		{ EAI_AGAIN, none, EAI_AGAIN },
		{ EAI_SYSTEM, none, EAI_SYSTEM },
		{ 0, none, EAI_NODATA },
		{ 0, other, EAI_NODATA },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct waking w;
		struct shared *s = shared_new(&w);

		answer = cases[i].answer;
		found = cases[i].found;
		run_lookup(s, "a.example");
		cr_assert(s->done);
		cr_assert(w.count == 1);
		cr_expect(!s->done->addresses, "case %zu", i);
		cr_expect(s->done->failed == cases[i].failed, "case %zu: %d", i,
			  s->done->failed);
		lookup_free(s->done);
		shared_unref(s);
	}
	answer = 0;
}

Test(resolver_lookup, lookups_that_end_before_they_are_taken_are_all_kept)
{
	static const char *const one[] = { "192.0.2.1", NULL };
	struct waking w;
	struct shared *s = shared_new(&w);
	int count = 0;

	found = one;
	run_lookup(s, "a");
	run_lookup(s, "b");
	run_lookup(s, "c");
	cr_expect(w.count == 3);
	while (s->done) {
		struct lookup *l = s->done;

		s->done = l->next;
		count++;
		lookup_free(l);
	}
	cr_expect(count == 3);
	shared_unref(s);
}

/*
 * The lookup frees itself. The sanitizers would report memory that is leaked or
 * freed twice.
 */
Test(resolver_lookup, a_lookup_without_a_resolver_frees_itself)
{
	static const char *const one[] = { "192.0.2.1", NULL };
	struct waking w;
	struct shared *s = shared_new(&w);

	found = one;
	s->wake = NULL;
	run_lookup(s, "a");
	cr_assert(!s->done);
	cr_assert(!w.count);
	cr_expect(atomic_load(&s->refs) == 1);
	shared_unref(s);
}
