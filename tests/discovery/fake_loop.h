/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The descriptors that discoveries watch on the loop of an HTTP client, which a
 * test polls itself.
 *
 * Ownership: nothing is kept.
 * Threads: one thread.
 */
#ifndef TESTS_DISCOVERY_FAKE_LOOP_H
#define TESTS_DISCOVERY_FAKE_LOOP_H

#include <poll.h>

#include "client/transfer/http.h"
#include "tests/check.h"

/* The descriptors that are watched. */
static struct {
	struct {
		int fd;
		http_watch_fn fn;
		void *ctx;
	} v[16];
	size_t count;
} fake_loop;

void http_watch(struct http_client *c UNUSED, int fd, unsigned events,
		http_watch_fn fn, void *ctx)
{
	cr_assert(events == HTTP_READABLE);
	cr_assert(fake_loop.count < ARRAY_SIZE(fake_loop.v));
	fake_loop.v[fake_loop.count].fd = fd;
	fake_loop.v[fake_loop.count].fn = fn;
	fake_loop.v[fake_loop.count++].ctx = ctx;
}

void http_unwatch(struct http_client *c UNUSED, int fd)
{
	for (size_t i = 0; i < fake_loop.count; i++) {
		if (fake_loop.v[i].fd == fd)
			fake_loop.v[i] = fake_loop.v[--fake_loop.count];
	}
}

/* Wait for one event, for a minute at most; call its function. */
static inline void fake_loop_turn(void)
{
	struct pollfd p[ARRAY_SIZE(fake_loop.v)];
	size_t count = fake_loop.count;

	for (size_t i = 0; i < count; i++)
		p[i] = (struct pollfd){ .fd = fake_loop.v[i].fd,
					.events = POLLIN };
	cr_assert(poll(p, count, 60000) > 0, "nothing happens");
	for (size_t i = 0; i < count; i++) {
		if (!p[i].revents)
			continue;
		fake_loop.v[i].fn(fake_loop.v[i].ctx, p[i].fd, HTTP_READABLE);
		return;
	}
}

#endif
