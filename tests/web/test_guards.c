/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/check.h"
#include "web/guard/connections.h"
#include "web/guard/limiter.h"

TestSuite(guards, .timeout = 20);

/* A connection, and the side that sees whether it was ended. */
struct pair {
	int ours;
	int theirs;
	struct connection *c;
};

static void open_pair_of(struct connections *cs, struct pair *p,
			 uint64_t client)
{
	int fds[2];

	cr_assert(!socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	p->ours = fds[0];
	p->theirs = fds[1];
	p->c = connections_add(cs, p->ours, client);
}

/* Opens a connection of client 1. */
static void open_pair(struct connections *cs, struct pair *p)
{
	open_pair_of(cs, p, 1);
}

static bool is_ended(const struct pair *p)
{
	char byte;

	return recv(p->theirs, &byte, 1, MSG_DONTWAIT) == 0;
}

static void close_pair(struct connections *cs, struct pair *p)
{
	connection_end(cs, p->c);
	close(p->ours);
	close(p->theirs);
}

Test(guards, connections_that_wait_are_closed_first)
{
	const struct connections_options o = { .max = 4,
					       .first_ms = 60000,
					       .next_ms = 60000 };
	struct connections *cs = connections_new(&o);
	struct pair p[9];

	for (int i = 0; i < 4; i++)
		open_pair(cs, &p[i]);
	connection_turn(cs, p[0].c, CONNECTION_WORKING);
	connection_turn(cs, p[1].c, CONNECTION_SENDING);
	connection_turn(cs, p[2].c, CONNECTION_READING);
	/* Connection 2 has had an answer after 3 began to wait for a request. */
	open_pair(cs, &p[4]);
	cr_assert(is_ended(&p[3]));
	cr_assert(!is_ended(&p[2]));
	cr_expect(!is_ended(&p[1]));
	close_pair(cs, &p[3]);
	/* A request of connection 4 may be on its way, so 2 gives way. */
	open_pair(cs, &p[5]);
	cr_assert(is_ended(&p[2]));
	cr_expect(!is_ended(&p[4]));
	close_pair(cs, &p[2]);
	connection_turn(cs, p[5].c, CONNECTION_RECEIVING);
	open_pair(cs, &p[6]);
	cr_expect(is_ended(&p[4]));
	close_pair(cs, &p[4]);
	/* If all connections are busy, the newest one is ended. */
	connection_turn(cs, p[6].c, CONNECTION_WORKING);
	open_pair(cs, &p[7]);
	cr_assert(is_ended(&p[7]));
	cr_assert(!is_ended(&p[1]));
	cr_expect(!is_ended(&p[5]));
	close_pair(cs, &p[7]);
	/* But a client with fewer connections gets one. */
	open_pair_of(cs, &p[8], 2);
	cr_assert(is_ended(&p[1]));
	cr_assert(!is_ended(&p[8]));
	cr_expect(!is_ended(&p[5]));
	close_pair(cs, &p[1]);
	cr_expect(!connections_settle(cs, 0), "two work");
	close_pair(cs, &p[0]);
	close_pair(cs, &p[5]);
	close_pair(cs, &p[6]);
	close_pair(cs, &p[8]);
	cr_expect(connections_settle(cs, 0));
	connections_free(cs);
}

Test(guards, a_client_that_opens_many_connections_closes_its_own)
{
	const struct connections_options o = { .max = 8,
					       .first_ms = 60000,
					       .next_ms = 60000 };
	struct connections *cs = connections_new(&o);
	struct pair others[3];
	struct pair p[40];

	/* An upload, a download, and one that is about to send a request. */
	for (int i = 0; i < 3; i++)
		open_pair_of(cs, &others[i], 2);
	connection_turn(cs, others[0].c, CONNECTION_RECEIVING);
	connection_turn(cs, others[1].c, CONNECTION_SENDING);
	for (int i = 0; i < 40; i++) {
		open_pair(cs, &p[i]);
		if (i >= 5)
			close_pair(cs, &p[i - 5]);
		cr_expect(i < 5 || !is_ended(&p[i]), "%d", i);
	}
	for (int i = 0; i < 3; i++)
		cr_expect(!is_ended(&others[i]), "%d", i);
	for (int i = 35; i < 40; i++)
		close_pair(cs, &p[i]);
	for (int i = 0; i < 3; i++)
		close_pair(cs, &others[i]);
	connections_free(cs);
}

Test(guards, only_requests_past_their_deadline_are_ended)
{
	const struct connections_options o = { .max = 10,
					       .first_ms = 0,
					       .next_ms = 60000 };
	struct connections *cs = connections_new(&o);
	struct pair p[3];

	for (int i = 0; i < 3; i++)
		open_pair(cs, &p[i]);
	connection_turn(cs, p[1].c, CONNECTION_WORKING);
	connection_turn(cs, p[2].c, CONNECTION_READING);
	usleep(1000);
	cr_expect(connections_sweep(cs) == 1);
	cr_assert(is_ended(&p[0]));
	cr_assert(!is_ended(&p[1]));
	cr_expect(!is_ended(&p[2]));
	cr_expect(connections_sweep(cs) == 0, "ended once");
	for (int i = 0; i < 3; i++)
		close_pair(cs, &p[i]);
	connections_free(cs);
}

/* Makes both ends of a TCP connection, for which the kernel counts bytes. */
static void open_tcp_pair(struct connections *cs, struct pair *p)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t len = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	cr_assert(!bind(listener, (struct sockaddr *)&at, len));
	cr_assert(!listen(listener, 1));
	cr_assert(!getsockname(listener, (struct sockaddr *)&at, &len));
	p->theirs = socket(AF_INET, SOCK_STREAM, 0);
	cr_assert(!connect(p->theirs, (struct sockaddr *)&at, len));
	p->ours = accept(listener, NULL, NULL);
	cr_assert(p->ours >= 0);
	p->c = connections_add(cs, p->ours, 1);
	close(listener);
}

Test(guards, bodies_that_arrive_too_slowly_end_their_connection)
{
	const struct connections_options o = { .max = 10,
					       .first_ms = 60000,
					       .next_ms = 60000,
					       .least_rate = 1000000,
					       .rate_ms = 1 };
	struct connections *cs = connections_new(&o);
	char data[5000] = { 0 };
	struct pair p[3];

	for (int i = 0; i < 3; i++)
		open_tcp_pair(cs, &p[i]);
	connection_turn(cs, p[0].c, CONNECTION_RECEIVING);
	connection_turn(cs, p[1].c, CONNECTION_RECEIVING);
	/* Connection 2 waits for a request, for which there is no rate. */
	connection_turn(cs, p[2].c, CONNECTION_READING);
	cr_assert(send(p[0].theirs, data, 100, 0) == 100);
	cr_assert(send(p[1].theirs, data, sizeof(data), 0) == sizeof(data));
	cr_assert(recv(p[1].ours, data, sizeof(data), MSG_WAITALL) ==
		  sizeof(data));
	usleep(1500);
	cr_expect(connections_sweep(cs) == 1);
	cr_assert(is_ended(&p[0]));
	cr_assert(!is_ended(&p[1]));
	cr_expect(!is_ended(&p[2]));
	/* The next measurement finds that nothing more has arrived. */
	usleep(1500);
	cr_expect(connections_sweep(cs) == 1);
	cr_assert(is_ended(&p[1]));
	cr_expect(!is_ended(&p[2]));
	for (int i = 0; i < 3; i++)
		close_pair(cs, &p[i]);
	connections_free(cs);
}

#define SECOND 1000000000LL

static bool pass(struct limiter *l, const char *address, int64_t now)
{
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in v4 = { .sin_family = AF_INET };

	if (inet_pton(AF_INET, address, &v4.sin_addr) == 1)
		return limiter_pass(l, (const struct sockaddr *)&v4, now);
	cr_assert(inet_pton(AF_INET6, address, &v6.sin6_addr) == 1);
	return limiter_pass(l, (const struct sockaddr *)&v6, now);
}

static int passes(struct limiter *l, const char *address, int64_t now, int n)
{
	int count = 0;

	for (int i = 0; i < n; i++)
		count += pass(l, address, now);
	return count;
}

Test(guards, each_client_has_its_own_bucket)
{
	struct limiter *l = limiter_new(10);
	int64_t now = 1000 * SECOND;

	cr_expect(passes(l, "10.0.0.1", now, 100) == 20);
	cr_expect(passes(l, "10.0.0.2", now, 100) == 20);
	cr_expect(passes(l, "10.0.0.1", now + SECOND / 2, 100) == 5);
	cr_expect(passes(l, "10.0.0.1", now + 9 * SECOND, 100) == 20);
	cr_expect(passes(l, "10.0.0.1", now, 100) == 0, "a clock set back");
	/* An IPv6 network is one client. */
	cr_expect(passes(l, "2001:db8::1", now, 15) == 15);
	cr_expect(passes(l, "2001:db8::2", now, 15) == 5);
	cr_expect(passes(l, "2001:db8:0:1::2", now, 15) == 15);
	/* A socket of both IP versions gives IPv4 addresses in this form. */
	cr_expect(passes(l, "::ffff:10.9.9.1", now, 100) == 20);
	cr_expect(passes(l, "::ffff:10.9.9.2", now, 100) == 20);
	cr_expect(passes(l, "10.9.9.1", now, 100) == 0);
	limiter_free(l);
	l = limiter_new(0);
	cr_expect(passes(l, "10.0.0.1", now, 1000) == 1000);
	limiter_free(l);
}
