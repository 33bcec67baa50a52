/* SPDX-License-Identifier: Apache-2.0 */
#include "client/address/resolver_lookup.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/mutex.h"
#include "client/address/resolver_private.h"

/* The resolver and every lookup hold one reference each. */
void shared_unref(struct shared *s)
{
	if (atomic_fetch_sub(&s->refs, 1) > 1)
		return;
	mutex_destroy(&s->mu);
	mem_free(s);
}

void lookup_free(struct lookup *l)
{
	mem_free(l->name);
	mem_free(l->addresses);
	mem_free(l);
}

/* Append an address in the form of CURLOPT_RESOLVE: IPv6 in brackets. */
static void add_address(struct buf *out, const void *address, bool six)
{
	const struct sockaddr_in6 *a6 = address;
	const struct sockaddr_in *a4 = address;
	char text[INET6_ADDRSTRLEN];

	if (six)
		inet_ntop(AF_INET6, &a6->sin6_addr, text, sizeof(text));
	else
		inet_ntop(AF_INET, &a4->sin_addr, text, sizeof(text));
	buf_printf(out, six ? "%s[%s]" : "%s%s", out->len ? "," : "", text);
}

/*
 * Call getaddrinfo(), which may block for as long as the name servers take.
 * AI_ADDRCONFIG leaves out address families that this machine cannot use.
 */
static void look_up(struct lookup *l)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
					.ai_flags = AI_ADDRCONFIG };
	struct addrinfo *found = NULL;
	struct buf text = { 0 };
	int rc = getaddrinfo(l->name, NULL, &hints, &found);

	for (const struct addrinfo *a = found; a; a = a->ai_next) {
		if (a->ai_family == AF_INET || a->ai_family == AF_INET6)
			add_address(&text, a->ai_addr,
				    a->ai_family == AF_INET6);
	}
	if (found)
		freeaddrinfo(found);
	if (text.len)
		l->addresses = mem_strdup(buf_cstr(&text));
	else
		/*
		 * If all addresses found are neither IPv4 nor IPv6, the lookup
		 * has failed although rc is 0.
		 */
		l->failed = rc ? rc : EAI_NODATA;
	buf_fini(&text);
}

/*
 * Call the resolver's wake() while it holds the mutex, so that the resolver
 * cannot be freed during the call.
 */
void *lookup_run(void *arg)
{
	struct lookup *l = arg;
	struct shared *s = l->shared;
	int64_t began = clock_mono_ns();

	pthread_setname_np(pthread_self(), "resolve");
	look_up(l);
	l->took_ns = clock_mono_ns() - began;
	mutex_lock(&s->mu);
	if (s->wake) {
		l->next = s->done;
		s->done = l;
		s->wake(s->ctx);
		l = NULL;
	}
	mutex_unlock(&s->mu);
	if (l)
		lookup_free(l);
	shared_unref(s);
	return NULL;
}
