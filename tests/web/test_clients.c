/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shares of clients, which are told apart by their addresses; how
 * connections are ended; the addresses that a server listens on.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/check.h"
#include "web/guard/clients.h"
#include "web/guard/connections.h"
#include "web/guard/limiter.h"
#include "web/http/listen.h"
#include "web/web.h"

TestSuite(clients, .timeout = 30);

/* An address of either version. */
union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static union address address_of(const char *text)
{
	union address a = { .v6 = { 0 } };

	if (inet_pton(AF_INET, text, &a.v4.sin_addr) == 1) {
		a.v4.sin_family = AF_INET;
		return a;
	}
	cr_assert(inet_pton(AF_INET6, text, &a.v6.sin6_addr) == 1, "%s", text);
	a.v6.sin6_family = AF_INET6;
	return a;
}

static uint64_t key_of(const char *text)
{
	union address a = address_of(text);

	return client_key(&a.any);
}

Test(clients, addresses_of_one_network_are_one_client)
{
	static const struct {
		const char *a;
		const char *b;
		bool same;
	} cases[] = {
		{ "10.0.0.1", "10.0.0.1", true },
		{ "10.0.0.1", "10.0.0.2", false },
		{ "10.0.0.1", "1.0.0.10", false },
		{ "2001:db8::1", "2001:db8::2", true },
		{ "2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff", true },
		{ "2001:db8:0:1::1", "2001:db8:0:2::1", false },
		{ "2001:db8::1", "2001:db9::1", false },
		{ "::ffff:10.0.0.1", "10.0.0.1", true },
		{ "::ffff:10.0.0.1", "::ffff:10.0.0.2", false },
		{ "::1", "0.0.0.0", false },
		{ "0a00:0001::", "10.0.0.1", false },
	};
	union address unix_address = { .any = { .sa_family = AF_UNIX } };
	union address port = address_of("10.0.0.1");

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect((key_of(cases[i].a) == key_of(cases[i].b)) ==
				  cases[i].same,
			  "%s and %s", cases[i].a, cases[i].b);
	port.v4.sin_port = htons(80);
	cr_expect(client_key(&port.any) == key_of("10.0.0.1"));
	cr_assert(client_key(NULL));
	cr_expect(client_key(NULL) == client_key(NULL));
	cr_expect(client_key(&unix_address.any) == client_key(NULL));
}

/* The state that the clients of a test share. */
struct shares {
	struct budget memory;
	struct pool *pool;
	struct clients *cs;
};

static struct shares shares_of(int64_t max)
{
	struct shares s = { .memory = { .name = "query.memory", .max = max } };

	s.pool = pool_start("clients", 1, 4);
	return s;
}

static void shares_fini(struct shares *s)
{
	clients_free(s->cs);
	pool_free(s->pool);
}

static struct client *get_client(struct clients *cs, const char *text)
{
	union address a = address_of(text);

	return clients_get(cs, &a.any);
}

Test(clients, one_client_leaves_an_eighth_to_the_others)
{
	struct shares s = shares_of(8000);
	struct client *greedy;
	struct client *other;
	struct err err = { .msg = "" };

	s.cs = clients_new(&s.memory, s.pool, s.pool);
	greedy = get_client(s.cs, "10.0.0.1");
	other = get_client(s.cs, "10.0.0.2");
	cr_assert(greedy != other);
	cr_expect(budget_take(&greedy->memory, 7001, &err) == ERR_LIMIT);
	cr_expect(strstr(err.msg, "query.memory"), "%s", err.msg);
	cr_expect(!budget_take(&greedy->memory, 7000, NULL));
	cr_expect(budget_take(&greedy->memory, 1, NULL) == ERR_LIMIT);
	cr_expect(!budget_take(&other->memory, 1000, NULL));
	/* The budget of all clients is a bound, too. */
	cr_expect(budget_take(&other->memory, 1, NULL) == ERR_LIMIT);
	budget_give(&greedy->memory, 7000);
	cr_expect(!budget_take(&other->memory, 6000, NULL));
	budget_give(&other->memory, 7000);
	cr_expect(!atomic_load(&s.memory.used));
	clients_put(s.cs, greedy);
	clients_put(s.cs, other);
	shares_fini(&s);
}

Test(clients, a_client_lives_as_long_as_it_has_requests)
{
	struct shares s = shares_of(8000);
	struct client *one;
	struct client *unknown;

	s.cs = clients_new(&s.memory, s.pool, s.pool);
	one = get_client(s.cs, "2001:db8::1");
	cr_expect(get_client(s.cs, "2001:db8::2") == one, "one network");
	atomic_store(&one->hashing, 7);
	clients_put(s.cs, one);
	cr_expect(get_client(s.cs, "2001:db8::3") == one);
	cr_expect(atomic_load(&one->hashing) == 7, "still the same");
	clients_put(s.cs, one);
	clients_put(s.cs, one);
	one = get_client(s.cs, "2001:db8::1");
	cr_expect(!atomic_load(&one->hashing), "a new one");
	clients_put(s.cs, one);
	unknown = clients_get(s.cs, NULL);
	cr_expect(clients_get(s.cs, NULL) == unknown);
	clients_put(s.cs, unknown);
	clients_put(s.cs, unknown);
	clients_free(NULL);
	shares_fini(&s);
}

Test(clients, many_clients_are_kept_apart)
{
	enum {
		MANY = 3000
	}; /* more than the table has slots */
	static struct client *all[MANY];
	struct shares s = shares_of(8000);
	char text[32];

	s.cs = clients_new(&s.memory, s.pool, s.pool);
	for (int i = 0; i < MANY; i++) {
		snprintf(text, sizeof(text), "10.1.%d.%d", i / 256, i % 256);
		all[i] = get_client(s.cs, text);
		cr_assert(!atomic_load(&all[i]->hashing), "%s", text);
		atomic_store(&all[i]->hashing, i + 1);
	}
	/*
	 * Every second client goes first, so that lists of slots lose entries
	 * in their middle.
	 */
	for (int i = 0; i < MANY; i += 2)
		clients_put(s.cs, all[i]);
	for (int i = 1; i < MANY; i += 2) {
		snprintf(text, sizeof(text), "10.1.%d.%d", i / 256, i % 256);
		cr_assert(get_client(s.cs, text) == all[i], "%s", text);
		clients_put(s.cs, all[i]);
		clients_put(s.cs, all[i]);
	}
	shares_fini(&s);
}

#define SECOND 1000000000LL

static bool pass_at(struct limiter *l, const char *text, int64_t now_ns)
{
	union address a = address_of(text);

	return limiter_pass(l, &a.any, now_ns);
}

Test(clients, tokens_come_back_at_the_rate)
{
	struct limiter *l = limiter_new(2);
	int64_t now = 5 * SECOND;

	for (int i = 0; i < 4; i++)
		cr_expect(pass_at(l, "10.0.0.1", now), "burst of four: %d", i);
	cr_expect(!pass_at(l, "10.0.0.1", now));
	cr_expect(!pass_at(l, "10.0.0.1", now + SECOND / 2 - 1));
	cr_expect(pass_at(l, "10.0.0.1", now + SECOND / 2));
	cr_expect(!pass_at(l, "10.0.0.1", now + SECOND / 2));
	cr_expect(pass_at(l, "10.0.0.1", now + SECOND));
	cr_expect(limiter_pass(l, NULL, now), "nobody knows who");
	limiter_free(l);
	limiter_free(NULL);
}

Test(clients, a_time_in_the_past_brings_no_tokens)
{
	struct limiter *l = limiter_new(2);
	int64_t now = 5 * SECOND;

	for (int i = 0; i < 4; i++)
		cr_expect(pass_at(l, "10.0.0.1", now));
	for (int i = 0; i < 10; i++) {
		cr_expect(!pass_at(l, "10.0.0.1", now - SECOND));
		cr_expect(!pass_at(l, "10.0.0.1", now));
	}
	limiter_free(l);
}

Test(clients, the_highest_rate_and_the_latest_time_do_not_overflow)
{
	struct limiter *l = limiter_new(1000000);

	cr_expect(pass_at(l, "10.0.0.1", 0));
	cr_expect(pass_at(l, "10.0.0.1", INT64_MAX));
	cr_expect(pass_at(l, "10.0.0.1", INT64_MAX));
	limiter_free(l);
}

Test(clients, new_addresses_replace_those_not_seen_for_longest)
{
	struct limiter *l = limiter_new(1);
	int64_t now = 10 * SECOND;
	char text[64];
	int passed = 0;

	cr_assert(pass_at(l, "10.0.0.1", now));
	cr_expect(pass_at(l, "10.0.0.1", now));
	cr_expect(!pass_at(l, "10.0.0.1", now));
	/* Every bucket is taken several times by networks that come later. */
	for (int i = 0; i < 30000; i++) {
		snprintf(text, sizeof(text), "2001:db8:%x:%x::1", i / 256,
			 i % 256);
		passed += pass_at(l, text, now + 1);
	}
	cr_expect(passed == 30000, "the first request of each passes");
	/* The first address was forgotten, so it has another burst. */
	cr_expect(pass_at(l, "10.0.0.1", now + 2));
	limiter_free(l);
}

Test(clients, an_address_that_comes_all_the_time_is_not_forgotten)
{
	struct limiter *l = limiter_new(1);
	int64_t now = 10 * SECOND;
	char text[64];
	int passed = 0;

	for (int i = 0; i < 30000; i++) {
		snprintf(text, sizeof(text), "2001:db8:%x:%x::1", i / 256,
			 i % 256);
		passed += pass_at(l, "10.0.0.1", now + i);
		(void)pass_at(l, text, now + i);
	}
	cr_expect(passed == 2, "its burst alone: %d", passed);
	limiter_free(l);
}

/* Makes both ends of a connection. */
static void open_ends(int fds[2])
{
	cr_assert(!socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
}

static bool is_shut(int theirs)
{
	char byte;

	return recv(theirs, &byte, 1, MSG_DONTWAIT) == 0;
}

Test(clients, a_connection_that_is_dropped_stays_until_it_is_ended)
{
	const struct connections_options o = { .max = 10,
					       .first_ms = 0,
					       .next_ms = 60000 };
	struct connections *cs = connections_new(&o);
	struct connection *c;
	int fds[2];

	open_ends(fds);
	c = connections_add(cs, fds[0], 1);
	connection_drop(cs, c);
	cr_expect(is_shut(fds[1]));
	cr_expect(connections_sweep(cs) == 0, "it is shut already");
	connection_turn(cs, c, CONNECTION_WORKING);
	cr_expect(connections_settle(cs, 0), "nobody waits for it");
	connection_end(cs, c);
	connections_free(cs);
	close(fds[0]);
	close(fds[1]);
}

Test(clients, what_there_is_not_is_no_connection)
{
	const struct connections_options o = { .max = 1,
					       .first_ms = 0,
					       .next_ms = 0 };
	struct connections *cs = connections_new(&o);

	connection_turn(cs, NULL, CONNECTION_SENDING);
	connection_drop(cs, NULL);
	connection_end(cs, NULL);
	cr_expect(!connection_target(NULL));
	cr_assert(connections_sweep(cs) == 0);
	cr_expect(connections_settle(cs, 0));
	connections_free(cs);
	connections_free(NULL);
}

Test(clients, the_target_of_a_connection_is_its_own)
{
	const struct connections_options o = { .max = 10,
					       .first_ms = 60000,
					       .next_ms = 60000 };
	struct connections *cs = connections_new(&o);
	struct connection *a = connections_add(cs, -1, 1);
	struct connection *b = connections_add(cs, -1, 1);

	cr_assert(!connection_target(a)->sound);
	cr_expect(!connection_target(a)->behind);
	connection_target(a)->sound = true;
	cr_expect(!connection_target(b)->sound);
	connection_turn(cs, a, CONNECTION_WORKING);
	cr_expect(connection_target(a)->sound, "whatever it does");
	/* Connections that are left are freed with their list. */
	connections_free(cs);
}

Test(clients, the_second_request_has_a_deadline_of_its_own)
{
	const struct connections_options o = { .max = 10,
					       .first_ms = 60000,
					       .next_ms = 0 };
	struct connections *cs = connections_new(&o);
	struct connection *c[3];
	int fds[3][2];
	int64_t start;

	for (int i = 0; i < 3; i++) {
		open_ends(fds[i]);
		c[i] = connections_add(cs, fds[i][0], 1);
	}
	connection_turn(cs, c[1], CONNECTION_SENDING);
	connection_turn(cs, c[2], CONNECTION_WORKING);
	connection_turn(cs, c[2], CONNECTION_READING);
	start = clock_mono_ns();
	while (clock_mono_ns() <= start + 1000)
		continue;
	cr_expect(connections_sweep(cs) == 1);
	cr_expect(!is_shut(fds[0][1]), "waits for its first request");
	cr_expect(!is_shut(fds[1][1]), "is sent an answer");
	cr_expect(is_shut(fds[2][1]), "waits for its second one");
	for (int i = 0; i < 3; i++) {
		connection_end(cs, c[i]);
		close(fds[i][0]);
		close(fds[i][1]);
	}
	connections_free(cs);
}

Test(clients, a_server_settles_when_all_answers_are_sent)
{
	const struct connections_options o = { .max = 10,
					       .first_ms = 60000,
					       .next_ms = 60000 };
	struct connections *cs = connections_new(&o);
	struct connection *a = connections_add(cs, -1, 1);
	struct connection *b = connections_add(cs, -1, 1);

	cr_expect(connections_settle(cs, 0), "waiting for a request is idle");
	connection_turn(cs, a, CONNECTION_WORKING);
	connection_turn(cs, b, CONNECTION_SENDING);
	cr_expect(!connections_settle(cs, 0));
	connection_turn(cs, a, CONNECTION_READING);
	cr_expect(!connections_settle(cs, clock_mono_ns() + 1000000));
	connection_end(cs, b);
	cr_expect(connections_settle(cs, 0));
	connection_end(cs, a);
	connections_free(cs);
}

Test(clients, addresses_to_listen_on_are_host_and_port)
{
	static const struct {
		const char *address;
		const char
			*why; /* part of the message; NULL: it is listened on */
	} cases[] = {
		{ "127.0.0.1:0", NULL },
		{ "localhost:0", NULL },
		{ ":0", NULL },
		{ "[127.0.0.1]:0", NULL },
		{ "", "host:port" },
		{ "127.0.0.1", "host:port" },
		{ "127.0.0.1:", "host:port" },
		{ "127.0.0.1:http", "host:port" },
		{ "127.0.0.1:80x", "host:port" },
		{ "127.0.0.1: 80", "host:port" },
		{ "127.0.0.1:-1", "host:port" },
		{ "127.0.0.1:1.5", "host:port" },
		{ "127.0.0.1:99999999999999999999", "host:port" },
		{ "127.0.0.1:65536", "65535" },
		{ "127.0.0.1:4294967297", "65535" },
		{ "256.0.0.1:0", "256.0.0.1:0" },
		{ "[::1:0", "[::1:0" },
		{ "a b:0", "a b:0" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = { .msg = "" };
		int fd = 77;
		int rc = listen_on(WEB_FLAG, cases[i].address, &fd, &err);

		cr_expect(rc == (cases[i].why ? ERR_INVALID : 0), "\"%s\": %s",
			  cases[i].address, err.msg);
		cr_expect((fd == -1) == !!cases[i].why, "\"%s\"",
			  cases[i].address);
		cr_expect(!cases[i].why || strstr(err.msg, cases[i].why),
			  "\"%s\": %s", cases[i].address, err.msg);
		cr_expect(fd < 0 || listen_port(fd), "a free port is found");
		if (fd >= 0)
			close(fd);
	}
}

/* Whether a connection to a port of an address succeeds. */
static bool is_reachable(const char *host, unsigned port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_NUMERICHOST };
	struct addrinfo *ai = NULL;
	char service[12];
	bool reached;
	int fd;

	snprintf(service, sizeof(service), "%u", port);
	cr_assert(!getaddrinfo(host, service, &hints, &ai));
	fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	reached = fd >= 0 && !connect(fd, ai->ai_addr, ai->ai_addrlen);
	if (fd >= 0)
		close(fd);
	freeaddrinfo(ai);
	return reached;
}

/* Whether the machine has the address of itself of IPv6. */
static bool has_ipv6(void)
{
	struct err err;
	int fd = -1;

	if (listen_on(WEB_FLAG, "[::1]:0", &fd, &err))
		return false;
	close(fd);
	return true;
}

Test(clients, without_a_host_all_addresses_are_listened_on)
{
	struct err err = { .msg = "" };
	char address[32];
	int fd = -1;
	int other = -1;

	cr_assert(!listen_on(WEB_FLAG, ":0", &fd, &err), "%s", err.msg);
	cr_expect(is_reachable("127.0.0.1", listen_port(fd)));
	cr_expect(!has_ipv6() || is_reachable("::1", listen_port(fd)));
	close(fd);
	/* A port that one family has taken is not shared with the other. */
	if (!has_ipv6())
		return;
	cr_assert(!listen_on(WEB_FLAG, "[::1]:0", &fd, &err), "%s", err.msg);
	snprintf(address, sizeof(address), ":%u", listen_port(fd));
	cr_expect(listen_on(WEB_FLAG, address, &other, &err) == ERR_IO);
	cr_expect(other == -1);
	close(fd);
}

Test(clients, a_host_that_is_too_long_is_refused)
{
	char address[300];
	struct err err = { .msg = "" };
	int fd = -1;

	memset(address, 'a', 256);
	strcpy(address + 256, ":0");
	cr_assert(listen_on(WEB_FLAG, address, &fd, &err) == ERR_INVALID);
	cr_expect(fd == -1);
	memset(address, 'a', 255);
	strcpy(address + 255, ":0");
	cr_assert(listen_on(WEB_FLAG, address, &fd, &err) == ERR_INVALID);
	cr_expect(fd == -1);
}

Test(clients, a_port_that_is_taken_is_an_error_of_the_system)
{
	char address[32];
	struct err err = { .msg = "" };
	int taken = -1;
	int fd = -1;

	cr_assert(!listen_on(WEB_FLAG, "127.0.0.1:0", &taken, &err), "%s",
		  err.msg);
	cr_expect(fcntl(taken, F_GETFD) & FD_CLOEXEC, "children do not get it");
	snprintf(address, sizeof(address), "127.0.0.1:%u", listen_port(taken));
	cr_assert(listen_on(WEB_FLAG, address, &fd, &err) == ERR_IO);
	cr_expect(fd == -1);
	cr_assert(strstr(err.msg, address), "%s", err.msg);
	cr_expect(err.code == ERR_IO, "%s", err.msg);
	close(taken);
	/* The port is free again at once. */
	cr_expect(!listen_on(WEB_FLAG, address, &fd, &err), "%s", err.msg);
	close(fd);
	cr_expect(!listen_port(-1));
}
