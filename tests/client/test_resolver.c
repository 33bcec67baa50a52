/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "client/address/resolver.h"
#include "client/address/resolver_lookup.h"
#include "client/transfer/http.h"
#include "tests/check.h"

TestSuite(resolver, .timeout = 30);

/*
 * getaddrinfo() below replaces that of libc. Names that begin with "slow" wait
 * for the gate. Names that contain "none" have no address. Names that begin
 * with "turn" fail with the error in `turn`, if one is set.
 */

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static bool is_open;
static _Atomic int lookups;
static _Atomic int answers; /* lookups that have ended */
static _Atomic int turn;    /* an EAI_* error, or 0 */
static int64_t moved_ns;    /* how far the clock was moved */

static void open_gate(bool open)
{
	pthread_mutex_lock(&mu);
	is_open = open;
	pthread_cond_broadcast(&opened);
	pthread_mutex_unlock(&mu);
}

static void pass_gate(void)
{
	pthread_mutex_lock(&mu);
	while (!is_open)
		pthread_cond_wait(&opened, &mu);
	pthread_mutex_unlock(&mu);
}

static struct addrinfo *address(int family, const char *text)
{
	struct addrinfo *a = mem_new(struct addrinfo);

	a->ai_family = family;
	a->ai_addr = mem_zalloc(1, sizeof(struct sockaddr_storage));
	a->ai_addr->sa_family = (sa_family_t)family;
	inet_pton(
		family, text,
		family == AF_INET ?
			(void *)&((struct sockaddr_in *)a->ai_addr)->sin_addr :
			(void *)&((struct sockaddr_in6 *)a->ai_addr)
				->sin6_addr);
	return a;
}

int getaddrinfo(const char *name, const char *service,
		const struct addrinfo *hints, struct addrinfo **out)
{
	(void)service;
	(void)hints;
	atomic_fetch_add(&lookups, 1);
	if (str_starts(str_of(name), str_of("slow")))
		pass_gate();
	if (strstr(name, "none"))
		return EAI_NONAME;
	if (str_starts(str_of(name), str_of("turn")) && atomic_load(&turn))
		return atomic_load(&turn);
	*out = address(AF_INET, "192.0.2.1");
	(*out)->ai_next = address(AF_INET6, "2001:db8::1");
	return 0;
}

void freeaddrinfo(struct addrinfo *a)
{
	while (a) {
		struct addrinfo *next = a->ai_next;

		mem_free(a->ai_addr);
		mem_free(a);
		a = next;
	}
}

/* The result that a caller of the resolver received. */
struct told {
	int count;
	char text[600];
};

static void on_told(void *ctx, const char *addresses, const struct err *err)
{
	struct told *t = ctx;

	t->count++;
	snprintf(t->text, sizeof(t->text), "%s",
		 addresses ? addresses : err->msg);
}

/* Called when a lookup has ended. */
static void on_wake(void *ctx)
{
	(void)ctx;
	atomic_fetch_add(&answers, 1);
}

static bool is_told(struct resolver *r, const struct told *t)
{
	for (int i = 0; i < 20000 && !t->count; i++) {
		usleep(1000);
		resolver_poll(r);
	}
	return t->count == 1;
}

Test(resolver, one_lookup_serves_all_waiters_and_is_cached)
{
	struct resolver *r = resolver_new(on_wake, NULL);
	struct told a = { 0 };
	struct told b = { 0 };
	struct told c = { 0 };
	struct told none = { 0 };
	int before = atomic_load(&lookups);

	open_gate(false);
	resolver_ask(r, "slow", on_told, &a);
	resolver_ask(r, "slow", on_told, &b);
	resolver_ask(r, "none", on_told, &none);
	open_gate(true);
	cr_assert(is_told(r, &a));
	cr_assert(is_told(r, &b));
	cr_expect(is_told(r, &none));
	cr_expect(check_str(str_of(a.text), "192.0.2.1,[2001:db8::1]"));
	cr_expect(strstr(none.text, "could not resolve host none: "));
	resolver_ask(r, "slow", on_told, &c);
	cr_assert(c.count == 1, "kept");
	cr_expect(atomic_load(&lookups) == before + 2, "kept");
	resolver_free(r);
}

static int64_t moved_now(void)
{
	return clock_mono_ns() + moved_ns;
}

/* Moves the clock by some minutes, asks for a name and waits for the answer. */
static struct told ask_after(struct resolver *r, const char *name, int minutes)
{
	struct told t = { 0 };

	moved_ns += minutes * 60000000000LL;
	resolver_ask(r, name, on_told, &t);
	cr_assert(is_told(r, &t));
	return t;
}

/* Waits until a counter of lookups is at least n. */
static void wait_for(const _Atomic int *counter, int n)
{
	for (int i = 0; i < 20000 && atomic_load(counter) < n; i++)
		usleep(1000);
	cr_assert(atomic_load(counter) >= n, "%d, not %d", atomic_load(counter),
		  n);
}

/* Waits until n lookups have ended, and takes their results. */
static void take_answers(struct resolver *r, int n)
{
	wait_for(&answers, n);
	resolver_poll(r);
}

#define HAS_ADDRESS(t) (str_starts(str_of((t).text), str_of("192.0.2.1,")))

Test(resolver, cached_addresses_survive_server_failure_but_not_nxdomain)
{
	struct resolver *r = resolver_new(on_wake, NULL);
	struct told t;
	int before;

	resolver_set_now(r, moved_now);
	t = ask_after(r, "turn", 0);
	cr_expect(HAS_ADDRESS(t));
	atomic_store(&turn, EAI_AGAIN);
	for (int i = 0; i < 13; i++) {
		before = atomic_load(&answers);
		t = ask_after(r, "turn", 4);
		cr_expect(HAS_ADDRESS(t), "after %d minutes", 4 * (i + 1));
		take_answers(r, before + 1);
	}
	t = ask_after(r, "turn", 10);
	cr_expect(strstr(t.text, "could not resolve host turn: "), "an hour");
	atomic_store(&turn, 0);
	t = ask_after(r, "turn", 1);
	cr_expect(HAS_ADDRESS(t));
	atomic_store(&turn, EAI_NONAME);
	before = atomic_load(&answers);
	t = ask_after(r, "turn", 1);
	cr_expect(HAS_ADDRESS(t), "the lookup is under way");
	take_answers(r, before + 1);
	t = ask_after(r, "turn", 0);
	cr_expect(strstr(t.text, "could not resolve host turn: "), "gone");
	resolver_free(r);
}

/*
 * If a name server is silent, callers get the cached address of a name at once.
 */
Test(resolver, cached_address_is_used_during_the_lookup)
{
	struct resolver *r = resolver_new(on_wake, NULL);
	struct told t;

	resolver_set_now(r, moved_now);
	open_gate(true);
	t = ask_after(r, "slow", 0);
	open_gate(false);
	moved_ns += 60000000000LL;
	t = (struct told){ 0 };
	resolver_ask(r, "slow", on_told, &t);
	cr_assert(t.count == 1);
	cr_expect(HAS_ADDRESS(t));
	/*
	 * The cached address is also given later, while the same lookup lasts.
	 */
	t = ask_after(r, "slow", 30);
	cr_expect(HAS_ADDRESS(t));
	open_gate(true);
	resolver_free(r);
}

/*
 * After six minutes the cached address is not given at once, because a new one
 * would be better. It is given as soon as the new lookup counts as slow.
 */
Test(resolver, idle_name_uses_its_cached_address)
{
	struct resolver *r = resolver_new(on_wake, NULL);
	struct told t = { 0 };

	resolver_set_now(r, moved_now);
	open_gate(true);
	cr_expect(HAS_ADDRESS(ask_after(r, "slow", 0)));
	open_gate(false);
	moved_ns += 6 * 60000000000LL;
	resolver_ask(r, "slow", on_told, &t);
	resolver_poll(r);
	cr_assert(!t.count, "a new address would be better");
	cr_expect(resolver_due_ns(r), "a new address would be better");
	moved_ns = resolver_due_ns(r) + 1 - clock_mono_ns();
	resolver_poll(r);
	cr_assert(t.count == 1);
	cr_assert(HAS_ADDRESS(t));
	cr_expect(!resolver_due_ns(r));
	open_gate(true);
	resolver_free(r);
}

Test(resolver, cache_size_is_limited)
{
	struct resolver *r = resolver_new(on_wake, NULL);
	char name[300];
	struct told t;

	resolver_set_now(r, moved_now);
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	t = ask_after(r, name, 0);
	cr_expect(strstr(t.text, "is longer than 253 bytes"));
	for (int i = 0; i < 20; i++) {
		for (int k = 0; k < 1000; k++) {
			snprintf(name, sizeof(name), "none-%d-%d", i, k);
			t = (struct told){ 0 };
			resolver_ask(r, name, on_told, &t);
			resolver_forget(r, name, &t);
		}
		resolver_poll(r);
		moved_ns += 60000000000LL;
	}
	cr_expect(resolver_names(r) <= 8192, "%zu", resolver_names(r));
	t = ask_after(r, "fast", 0);
	cr_expect(HAS_ADDRESS(t));
	resolver_free(r);
}

/* Asks for the names kind-0, kind-1, … */
static void ask_many(struct resolver *r, const char *kind, int n,
		     struct told *told)
{
	for (int i = 0; i < n; i++) {
		char name[32];

		snprintf(name, sizeof(name), "%s-%d", kind, i);
		told[i] = (struct told){ 0 };
		resolver_ask(r, name, on_told, &told[i]);
	}
}

static void expect_told(struct resolver *r, const struct told *told, int n)
{
	for (int i = 0; i < n; i++)
		cr_assert(is_told(r, &told[i]), "%d", i);
}

/*
 * Lets the lookups of slow-none-<number> count as having taken two seconds. The
 * caller holds the mutex of r->shared.
 */
static void on_slow_wake(void *ctx)
{
	struct resolver *const *r = ctx;
	struct lookup *l = (*r)->shared->done;

	if (str_starts(str_of(l->name), str_of("slow-none-")) &&
	    l->name[strlen("slow-none-")] <= '9')
		l->took_ns = 2000000000LL;
	atomic_fetch_add(&answers, 1);
}

/*
 * There are more lookups of each speed than threads for it, and all of them
 * wait at the gate. Each speed still has all of its threads.
 */
Test(resolver, slow_lookups_of_one_class_do_not_starve_others)
{
	struct resolver *r = NULL;
	struct told quick[12];
	struct told fresh[12];
	struct told slow[8];
	int before;

	r = resolver_new(on_slow_wake, &r);
	resolver_set_now(r, moved_now);
	open_gate(true);
	ask_many(r, "slow-none-quick", 12, quick);
	expect_told(r, quick, 12);
	ask_many(r, "slow-none", 8, slow);
	expect_told(r, slow, 8);
	/*
	 * These lookups failed, so the names are looked up again seconds later.
	 */
	moved_ns += 3000000000LL;
	open_gate(false);
	before = atomic_load(&lookups);
	ask_many(r, "slow-none-quick", 12, quick);
	ask_many(r, "slow-none-fresh", 12, fresh);
	ask_many(r, "slow-none", 8, slow);
	wait_for(&lookups, before + 20);
	resolver_poll(r);
	cr_assert(r->running[SPEED_FAST] == 8, "%u, %u, %u",
		  r->running[SPEED_FAST], r->running[SPEED_UNKNOWN],
		  r->running[SPEED_SLOW]);
	cr_assert(r->running[SPEED_UNKNOWN] == 8, "%u, %u, %u",
		  r->running[SPEED_FAST], r->running[SPEED_UNKNOWN],
		  r->running[SPEED_SLOW]);
	cr_expect(r->running[SPEED_SLOW] == 4, "%u, %u, %u",
		  r->running[SPEED_FAST], r->running[SPEED_UNKNOWN],
		  r->running[SPEED_SLOW]);
	open_gate(true);
	expect_told(r, quick, 12);
	expect_told(r, fresh, 12);
	expect_told(r, slow, 8);
	wait_for(&lookups, before + 32);
	resolver_free(r);
}

Test(resolver, cancelled_lookup_does_not_call_back)
{
	struct resolver *r = resolver_new(on_wake, NULL);
	struct shared *shared = r->shared;
	struct told a = { 0 };
	struct told b = { 0 };
	int before;

	open_gate(false);
	resolver_ask(r, "slow", on_told, &a);
	resolver_ask(r, "slow", on_told, &b);
	resolver_forget(r, "slow", &a);
	open_gate(true);
	cr_assert(is_told(r, &b));
	cr_expect(!a.count);
	open_gate(false);
	before = atomic_load(&lookups);
	resolver_ask(r, "slow-2", on_told, &a);
	wait_for(&lookups, before + 1);
	before = atomic_load(&answers);
	atomic_fetch_add(&shared->refs, 1);
	resolver_free(r);
	open_gate(true);
	/*
	 * The lookup drops its reference when it ends, and calls nobody back.
	 */
	for (int i = 0; i < 20000 && atomic_load(&shared->refs) > 1; i++)
		usleep(1000);
	cr_expect(atomic_load(&shared->refs) == 1);
	cr_assert(!a.count);
	cr_expect(atomic_load(&answers) == before);
	shared_unref(shared);
}

/* A request ends at its timeout even if its name lookup has not ended. */
Test(resolver, request_timeout_includes_name_lookup)
{
	struct http_request request = { .url = "http://slow:1/",
					.timeout_ms = 200,
					.max_body = 1,
					.user_agent = "test" };
	struct http_response response;
	int64_t began = clock_mono_ns();

	open_gate(false);
	http_get(&request, &response);
	cr_expect(response.code == ERR_TIMEOUT);
	cr_expect(check_str(
		str_of(response.err.msg),
		"no complete response within 200 ms (the host name is still being resolved)"));
	cr_expect(clock_mono_ns() - began < 10000000000LL);
	open_gate(true);
}
