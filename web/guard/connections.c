/* SPDX-License-Identifier: Apache-2.0 */
#include "web/guard/connections.h"

#include <linux/tcp.h> /* glibc's header lacks tcpi_bytes_acked */
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/mutex.h"

#define LOOK_US 5000 /* pause between two checks at shutdown, in µs */

#define ORIGIN_SLOTS 1024 /* number of slots of the hash table */

/* A client with connections, in a hash table. */
struct origin {
	uint64_t key;
	size_t count; /* number of its connections */
	struct origin *next;
};

/*
 * One connection. `mu` of struct connections guards all members but the target.
 */
struct connection {
	int fd;
	enum connection_state state;
	bool first;          /* no request has been received completely yet */
	bool ended;          /* shut down, but not yet closed */
	int64_t since_ns;    /* when the current state began, in ns */
	int64_t measured_ns; /* start of the current measurement of the rate */
	/* result of tcp_moved() at measured_ns */
	uint64_t moved;
	struct connection_target target;
	struct origin *origin; /* its client */
	struct connection *prev;
	struct connection *next;
};

/* All connections, as a ring ordered by since_ns, oldest first. */
struct connections {
	struct connections_options o;
	struct mutex mu;
	struct connection ring; /* anchor of the ring; not a connection */
	size_t count;
	struct origin *origins[ORIGIN_SLOTS];
};

struct connections *connections_new(const struct connections_options *o)
{
	struct connections *cs = mem_new(struct connections);

	cs->o = *o;
	mutex_init(&cs->mu);
	cs->ring.next = cs->ring.prev = &cs->ring;
	return cs;
}

/* Count one more connection of a client. */
static struct origin *origin_get(struct connections *cs, uint64_t key)
{
	struct origin **at = &cs->origins[key % ORIGIN_SLOTS];

	while (*at && (*at)->key != key)
		at = &(*at)->next;
	if (!*at) {
		*at = mem_new(struct origin);
		(*at)->key = key;
	}
	(*at)->count++;
	return *at;
}

/* Count one connection of a client less, and free it with its last one. */
static void origin_put(struct connections *cs, struct origin *o)
{
	struct origin **at = &cs->origins[o->key % ORIGIN_SLOTS];

	if (--o->count)
		return;
	while (*at != o)
		at = &(*at)->next;
	*at = o->next;
	mem_free(o);
}

void connections_free(struct connections *cs)
{
	if (!cs)
		return;
	while (cs->ring.next != &cs->ring) {
		struct connection *c = cs->ring.next;

		cs->ring.next = c->next;
		origin_put(cs, c->origin);
		mem_free(c);
	}
	mutex_destroy(&cs->mu);
	mem_free(cs);
}

/* Whether a connection receives a request, or waits for one. */
static bool connections_is_reading(const struct connection *c)
{
	return c->state == CONNECTION_READING ||
	       c->state == CONNECTION_RECEIVING;
}

/* Unlink a connection from the ring. */
static void connections_take_out(struct connection *c)
{
	c->prev->next = c->next;
	c->next->prev = c->prev;
}

/* Append a connection to the ring, because it enters a new state now. */
static void connections_begin(struct connections *cs, struct connection *c)
{
	c->since_ns = clock_mono_ns();
	c->prev = cs->ring.prev;
	c->next = &cs->ring;
	c->prev->next = c;
	cs->ring.prev = c;
}

/* Shut a connection down. libmicrohttpd notices and closes the descriptor. */
static void connections_shut(struct connection *c)
{
	c->ended = true;
	(void)shutdown(c->fd, SHUT_RDWR);
}

/*
 * Shut a connection down and drop the rest of its answer, which would otherwise
 * stay in the kernel's memory until the slow client has received it.
 */
static void connections_reset(struct connection *c)
{
	const struct linger now = { .l_onoff = 1 };

	(void)setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	connections_shut(c);
}

/* Whether the client of a connection must keep to the least rate now. */
static bool connections_has_rate(const struct connection *c)
{
	return c->state == CONNECTION_SENDING ||
	       c->state == CONNECTION_RECEIVING;
}

/*
 * Whether `a` is shut down rather than `b` to make room. `b` is the one that
 * has been in its state longer.
 */
static bool connections_prefer(const struct connection *a,
			       const struct connection *b)
{
	if (connections_has_rate(a) != connections_has_rate(b))
		return connections_has_rate(b);
	return a->origin->count > b->origin->count;
}

/*
 * Make room for the newest connection. Opening a connection costs a client
 * nothing, so it must not end what others have been permitted to send or to
 * receive: see connections_add().
 */
static void connections_evict(struct connections *cs)
{
	struct connection *newest = cs->ring.prev;
	struct connection *victim = NULL;

	for (struct connection *c = cs->ring.next; c != newest; c = c->next) {
		if (c->state == CONNECTION_WORKING || c->ended)
			continue;
		if (!victim || connections_prefer(c, victim))
			victim = c;
	}
	if (!victim || (connections_has_rate(victim) &&
			victim->origin->count <= newest->origin->count))
		victim = newest;
	connections_shut(victim);
}

/*
 * Number of bytes that the client has moved since the connection began: sent,
 * if it sends a body now, else received and acknowledged.
 */
static uint64_t tcp_moved(const struct connection *c)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	if (getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return 0;
	return c->state == CONNECTION_RECEIVING ? info.tcpi_bytes_received :
						  info.tcpi_bytes_acked;
}

struct connection *connections_add(struct connections *cs, int fd,
				   uint64_t client)
{
	struct connection *c = mem_new(struct connection);

	c->fd = fd;
	c->first = true;
	mutex_lock(&cs->mu);
	c->origin = origin_get(cs, client);
	connections_begin(cs, c);
	if (++cs->count > cs->o.max)
		connections_evict(cs);
	mutex_unlock(&cs->mu);
	return c;
}

void connection_turn(struct connections *cs, struct connection *c,
		     enum connection_state state)
{
	bool is_new;

	if (!c)
		return;
	mutex_lock(&cs->mu);
	connections_take_out(c);
	/*
	 * Measure the client's rate from the start of an answer or body; when a
	 * further part is sent, the measurement goes on.
	 */
	is_new = c->state != state;
	c->state = state;
	if (is_new && connections_has_rate(c)) {
		c->measured_ns = clock_mono_ns();
		c->moved = tcp_moved(c);
	}
	c->first = false;
	connections_begin(cs, c);
	mutex_unlock(&cs->mu);
}

void connection_end(struct connections *cs, struct connection *c)
{
	if (!c)
		return;
	mutex_lock(&cs->mu);
	connections_take_out(c);
	origin_put(cs, c->origin);
	cs->count--;
	mutex_unlock(&cs->mu);
	mem_free(c);
}

void connection_drop(struct connections *cs, struct connection *c)
{
	if (!c)
		return;
	mutex_lock(&cs->mu);
	connections_shut(c);
	mutex_unlock(&cs->mu);
}

struct connection_target *connection_target(struct connection *c)
{
	return c ? &c->target : NULL;
}

/*
 * Whether a client received its answer, or sent its body, too slowly in the
 * measurement that ends now; false while the measurement still runs. When one
 * measurement ends, the next begins.
 */
static bool is_slow(const struct connections *cs, struct connection *c,
		    int64_t now)
{
	uint64_t moved;
	bool slow;

	if (!cs->o.least_rate || !connections_has_rate(c) || c->ended ||
	    now - c->measured_ns < cs->o.rate_ms * 1000000)
		return false;
	moved = tcp_moved(c);
	slow = moved - c->moved <
	       (uint64_t)(cs->o.least_rate * cs->o.rate_ms / 1000);
	c->measured_ns = now;
	c->moved = moved;
	return slow;
}

/*
 * Whether a request is still incomplete after its deadline. Received bytes do
 * not extend the deadline, so a slow client cannot keep a connection forever.
 */
static bool is_late(const struct connections *cs, const struct connection *c,
		    int64_t now)
{
	int64_t ms = c->first ? cs->o.first_ms : cs->o.next_ms;

	return connections_is_reading(c) && !c->ended &&
	       now - c->since_ns > ms * 1000000;
}

size_t connections_sweep(struct connections *cs)
{
	int64_t now = clock_mono_ns();
	size_t n = 0;

	mutex_lock(&cs->mu);
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
	mutex_unlock(&cs->mu);
	return n;
}

/* Whether any connection is handling a request or sending an answer. */
static bool is_busy(const struct connections *cs)
{
	for (struct connection *c = cs->ring.next; c != &cs->ring;
	     c = c->next) {
		if (!connections_is_reading(c) && !c->ended)
			return true;
	}
	return false;
}

bool connections_settle(struct connections *cs, int64_t deadline_ns)
{
	bool busy;

	/* Polling is good enough, because this runs only once, at shutdown. */
	for (;;) {
		mutex_lock(&cs->mu);
		busy = is_busy(cs);
		mutex_unlock(&cs->mu);
		if (!busy || clock_mono_ns() >= deadline_ns)
			return !busy;
		usleep(LOOK_US);
	}
}
