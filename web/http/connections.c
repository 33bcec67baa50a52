/* SPDX-License-Identifier: Apache-2.0 */
#include "web/http/connections.h"

#include <linux/tcp.h> /* the C library's lacks tcpi_bytes_acked */
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

#define LOOK_US      5000
#define SEND_LOOK_NS (30 * 1000000000LL) /* between looks at slow clients */

struct connection {
	int fd;
	enum connection_state state;
	bool first; /* no request was complete yet */
	bool ended; /* shut down: only its end is to come */
	int64_t since_ns;
	int64_t sending_ns; /* of what it took of the answer, the last look, */
	uint64_t taken;     /* and how much that was by then */
	struct connection_target target;
	struct connection *prev;
	struct connection *next;
};

/* A ring in the order of `since`, the one that waits longest first. */
struct connections {
	struct connections_options o;
	pthread_mutex_t mu;
	struct connection ring;
	size_t count;
};

struct connections *connections_new(const struct connections_options *o)
{
	struct connections *cs = mem_new(struct connections);

	cs->o = *o;
	pthread_mutex_init(&cs->mu, NULL);
	cs->ring.next = cs->ring.prev = &cs->ring;
	return cs;
}

void connections_free(struct connections *cs)
{
	if (!cs)
		return;
	while (cs->ring.next != &cs->ring) {
		struct connection *c = cs->ring.next;

		cs->ring.next = c->next;
		mem_free(c);
	}
	pthread_mutex_destroy(&cs->mu);
	mem_free(cs);
}

static void connections_take_out(struct connection *c)
{
	c->prev->next = c->next;
	c->next->prev = c->prev;
}

/* It begins to wait, or to work: it is the last of the ring. */
static void connections_begin(struct connections *cs, struct connection *c)
{
	c->since_ns = clock_mono_ns();
	c->prev = cs->ring.prev;
	c->next = &cs->ring;
	c->prev->next = c;
	cs->ring.prev = c;
}

static void connections_shut(struct connection *c)
{
	c->ended = true;
	(void)shutdown(c->fd, SHUT_RDWR);
}

/* The same of one that takes nothing: what waits to be sent goes, too. */
static void connections_reset(struct connection *c)
{
	const struct linger now = { .l_onoff = 1 };

	(void)setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	connections_shut(c);
}

/* The one that has been idle longest, but for the last. */
static void connections_evict(struct connections *cs)
{
	for (struct connection *c = cs->ring.next; c != cs->ring.prev;
	     c = c->next) {
		if (c->state == CONNECTION_WORKING || c->ended)
			continue;
		connections_shut(c);
		return;
	}
	/* All work: who comes last goes. */
	connections_shut(cs->ring.prev);
}

/* Bytes of ours that the other end has acknowledged. */
static uint64_t tcp_taken(int fd)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return 0;
	return info.tcpi_bytes_acked;
}

struct connection *connections_add(struct connections *cs, int fd)
{
	struct connection *c = mem_new(struct connection);

	c->fd = fd;
	c->first = true;
	pthread_mutex_lock(&cs->mu);
	connections_begin(cs, c);
	if (++cs->count > cs->o.max)
		connections_evict(cs);
	pthread_mutex_unlock(&cs->mu);
	return c;
}

void connection_turn(struct connections *cs, struct connection *c,
		     enum connection_state state)
{
	if (!c)
		return;
	pthread_mutex_lock(&cs->mu);
	connections_take_out(c);
	if (state == CONNECTION_SENDING && c->state != state) {
		c->sending_ns = clock_mono_ns();
		c->taken = tcp_taken(c->fd);
	}
	c->state = state;
	c->first = false;
	connections_begin(cs, c);
	pthread_mutex_unlock(&cs->mu);
}

void connection_end(struct connections *cs, struct connection *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&cs->mu);
	connections_take_out(c);
	cs->count--;
	pthread_mutex_unlock(&cs->mu);
	mem_free(c);
}

void connection_drop(struct connections *cs, struct connection *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&cs->mu);
	connections_shut(c);
	pthread_mutex_unlock(&cs->mu);
}

struct connection_target *connection_target(struct connection *c)
{
	return c ? &c->target : NULL;
}

/* Whether it took less of its answer than it must, since the last look. */
static bool is_slow(const struct connections *cs, struct connection *c,
		    int64_t now)
{
	uint64_t taken;
	bool slow;

	if (!cs->o.send_rate || c->state != CONNECTION_SENDING || c->ended ||
	    now - c->sending_ns < SEND_LOOK_NS)
		return false;
	taken = tcp_taken(c->fd);
	slow = taken - c->taken <
	       (uint64_t)(cs->o.send_rate * (SEND_LOOK_NS / 1000000000));
	c->sending_ns = now;
	c->taken = taken;
	return slow;
}

static bool is_late(const struct connections *cs, const struct connection *c,
		    int64_t now)
{
	int64_t ms = c->first ? cs->o.first_ms : cs->o.next_ms;

	return c->state == CONNECTION_READING && !c->ended &&
	       now - c->since_ns > ms * 1000000;
}

size_t connections_sweep(struct connections *cs)
{
	int64_t now = clock_mono_ns();
	size_t n = 0;

	pthread_mutex_lock(&cs->mu);
	for (struct connection *c = cs->ring.next; c != &cs->ring;
	     c = c->next) {
		if (is_late(cs, c, now))
			connections_shut(c);
		else if (is_slow(cs, c, now))
			connections_reset(c);
		else
			continue;
		n++;
	}
	pthread_mutex_unlock(&cs->mu);
	return n;
}

static bool is_busy(const struct connections *cs)
{
	for (struct connection *c = cs->ring.next; c != &cs->ring;
	     c = c->next) {
		if (c->state != CONNECTION_READING && !c->ended)
			return true;
	}
	return false;
}

bool connections_settle(struct connections *cs, int64_t deadline_ns)
{
	bool busy;

	/* Once, when the server stops: looking is simpler than being told. */
	for (;;) {
		pthread_mutex_lock(&cs->mu);
		busy = is_busy(cs);
		pthread_mutex_unlock(&cs->mu);
		if (!busy || clock_mono_ns() >= deadline_ns)
			return !busy;
		usleep(LOOK_US);
	}
}
