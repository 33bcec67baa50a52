/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DNS discovery against a name server that misbehaves. What the server does
 * depends on the first letter of the name that it is asked for.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "discovery/core/kinds.h"
#include "discovery/dns/dns_sd.h"
#include "tests/check.h"

TestSuite(dns_sd, .timeout = 120);

#define HEADER 12

/* A name server on a port of its own, by UDP and TCP. */
struct server {
	pthread_t thread;
	int udp;
	int tcp;
	int wake[2];
	char address[40];
	_Atomic int asked;      /* queries by UDP */
	_Atomic int asked_tcp;  /* queries by TCP */
	_Atomic char behaviour; /* replaces the letter of names, unless 0 */
};

/* Appends an A record of the question's name. */
static size_t add_a(uint8_t *m, size_t len, uint8_t last)
{
	const uint8_t record[] = { 0xc0, HEADER, 0, 1, 0,   1, 0, 0,
				   0,    60,     0, 4, 192, 0, 2, last };

	memcpy(m + len, record, sizeof(record));
	return len + sizeof(record);
}

/* Returns the length of the question section's end in a query. */
static size_t question_end(const uint8_t *m)
{
	size_t at = HEADER;

	while (m[at])
		at += m[at] + 1U;
	return at + 5;
}

/* Turns a query into the response; returns its length, 0: none. */
static size_t respond(struct server *s, uint8_t *m, bool tcp)
{
	char letter = s->behaviour ? s->behaviour : (char)m[HEADER + 1];
	size_t len = question_end(m);

	m[2] = 0x81;
	m[3] = 0x80;
	memset(m + 6, 0, 6);
	switch (letter) {
	case 's': /* silent */
		return 0;
	case 'f': /* SERVFAIL */
		m[3] = 0x82;
		return len;
	case 'n': /* NXDOMAIN */
		m[3] = 0x83;
		return len;
	case 'e': /* exists, without records */
		return len;
	case 'g': /* a record that is cut */
		m[7] = 1;
		return add_a(m, len, 1) - 2;
	case 'l': /* another number of records than announced */
		m[6] = 0xff;
		return add_a(m, len, 1);
	case 'i': /* another id */
		m[0] ^= 1;
		return len;
	case 't': /* truncated by UDP */
		if (!tcp) {
			m[2] |= 2;
			return len;
		}
		m[7] = 2;
		return add_a(m, add_a(m, len, 1), 2);
	case 'c': /* truncated by UDP, and cut off by TCP */
		m[2] |= 2;
		return tcp ? 0 : len;
	default:
		m[7] = 1;
		return add_a(m, len, 7);
	}
}

static void serve_udp(struct server *s)
{
	uint8_t m[1024];
	struct sockaddr_in from;
	socklen_t size = sizeof(from);
	ssize_t n =
		recvfrom(s->udp, m, 512, 0, (struct sockaddr *)&from, &size);
	size_t len;

	if (n < HEADER)
		return;
	s->asked++;
	len = respond(s, m, false);
	if (len)
		sendto(s->udp, m, len, 0, (struct sockaddr *)&from, size);
}

static void serve_tcp(struct server *s)
{
	uint8_t m[1024];
	int fd = accept(s->tcp, NULL, NULL);
	ssize_t n = recv(fd, m, 2, MSG_WAITALL);
	size_t len = 0;

	if (n == 2)
		n = recv(fd, m + 2, (size_t)m[0] << 8 | m[1], MSG_WAITALL);
	s->asked_tcp++;
	if (n >= HEADER)
		len = respond(s, m + 2, true);
	if (len) {
		m[0] = (uint8_t)(len >> 8);
		m[1] = (uint8_t)len;
		n = write(fd, m, len + 2);
	}
	close(fd);
}

static void *run_server(void *arg)
{
	struct server *s = arg;

	for (;;) {
		struct pollfd p[] = { { s->udp, POLLIN, 0 },
				      { s->tcp, POLLIN, 0 },
				      { s->wake[0], POLLIN, 0 } };

		poll(p, 3, -1);
		if (p[2].revents)
			return NULL;
		if (p[0].revents)
			serve_udp(s);
		if (p[1].revents)
			serve_tcp(s);
	}
}

static void server_begin(struct server *s)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(a);

	*s = (struct server){ .tcp = socket(AF_INET, SOCK_STREAM, 0),
			      .udp = socket(AF_INET, SOCK_DGRAM, 0) };
	/* The port that TCP was given may be in use by UDP. */
	do {
		close(s->tcp);
		s->tcp = socket(AF_INET, SOCK_STREAM, 0);
		a.sin_port = 0;
		cr_assert(!bind(s->tcp, (struct sockaddr *)&a, sizeof(a)));
		cr_assert(!getsockname(s->tcp, (struct sockaddr *)&a, &size));
	} while (bind(s->udp, (struct sockaddr *)&a, sizeof(a)));
	listen(s->tcp, 10);
	snprintf(s->address, sizeof(s->address), "127.0.0.1:%d",
		 ntohs(a.sin_port));
	cr_assert(!pipe(s->wake));
	cr_assert(!pthread_create(&s->thread, NULL, run_server, s));
}

static void server_end(struct server *s)
{
	cr_assert(write(s->wake[1], "", 1) == 1);
	pthread_join(s->thread, NULL);
	close(s->udp);
	close(s->tcp);
	close(s->wake[0]);
	close(s->wake[1]);
}

/* A provider with its loop. */
struct dns_test {
	struct provider p;
	struct metrics *metrics;
	struct log log;
	struct dns_config config;
	struct str names[8];
};

static void open_names(struct dns_test *t, const char *servers,
		       const char *const *names)
{
	struct dns_config *c = &t->config;

	*t = (struct dns_test){ .metrics = metrics_new(),
				.log = { .level = LOG_ERROR + 1 } };
	*c = (struct dns_config){
		.names = t->names, .type = DNS_A, .port = 80, .servers = servers
	};
	while (names[c->name_count]) {
		t->names[c->name_count] = str_of(names[c->name_count]);
		c->name_count++;
	}
	t->p.config = &c->base;
	cr_assert(!http_client_new(&t->p.client, NULL));
	t->p.kind = &provider_dns;
	t->p.log = &t->log;
	t->p.call_ns = INT64_MAX;
	t->p.failures = metrics_counter(t->metrics, "failures", "", NULL);
	t->p.data = provider_dns.open(&t->p);
}

#define NAMES(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* Runs the loop until the refresh has ended: no call is wanted any more. */
static void refresh(struct dns_test *t)
{
	provider_dns.refresh(&t->p);
	while (t->p.call_ns != INT64_MAX) {
		if (t->p.call_ns <= clock_mono_ns()) {
			t->p.call_ns = INT64_MAX;
			provider_dns.call(&t->p);
		}
		http_poll(t->p.client, 20);
	}
}

static void close_names(struct dns_test *t)
{
	provider_dns.close(&t->p);
	target_groups_list_fini(&t->p.found);
	http_client_free(t->p.client);
	metrics_free(t->metrics);
}

/* Compares the number of targets of each name, as digits, and the failures. */
static bool has_found(const struct dns_test *t, const char *want, int failures)
{
	char text[20] = "";

	for (size_t i = 0; i < t->p.found.count; i++)
		text[i] = (char)('0' + t->p.found.v[i]->targets);
	if (metric_get(t->p.failures) != failures)
		fprintf(stderr, "%lld failures\n",
			(long long)metric_get(t->p.failures));
	return check_str(str_of(text), want) &&
	       metric_get(t->p.failures) == failures;
}

Test(dns_sd, outcomes_of_names)
{
	static const struct {
		const char *name;
		const char *found;
		int failures;
		int tcp; /* queries by TCP */
	} cases[] = {
		{ "ok.example.", "1", 0, 0 },
		{ "nx.example.", "0", 0, 0 },
		{ "empty.example.", "0", 0, 0 },
		{ "fail.example.", "", 1, 0 },
		{ "garbage.example.", "", 1, 0 },
		{ "long.example.", "", 1, 0 },
		{ "tcp.example.", "2", 0, 1 },
		{ "silent.example.", "", 1, 0 },
		{ "id.example.", "", 1, 0 },
		{ "a..b.", "", 1, 0 },
	};
	struct server s;

	server_begin(&s);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct dns_test t;

		s.asked_tcp = 0;
		open_names(&t, s.address, NAMES(cases[i].name));
		refresh(&t);
		cr_expect(has_found(&t, cases[i].found, cases[i].failures),
			  "%s", cases[i].name);
		cr_expect(s.asked_tcp == cases[i].tcp, "%s: %d by TCP",
			  cases[i].name, s.asked_tcp);
		cr_expect(t.p.asked, "%s", cases[i].name);
		close_names(&t);
	}
	server_end(&s);
}

Test(dns_sd, names_do_not_affect_each_other)
{
	struct server s;
	struct dns_test t;
	struct target_groups *first;

	server_begin(&s);
	open_names(&t, s.address,
		   NAMES("ok.example.", "fail.example.", "tcp.example.",
			 "nx.example."));
	refresh(&t);
	cr_expect(has_found(&t, "120", 1));
	first = t.p.found.v[0];
	/* Nothing has changed, so nothing is reported. */
	t.p.changed = false;
	refresh(&t);
	cr_assert(!t.p.changed);
	cr_expect(t.p.found.v[0] == first);
	cr_expect(has_found(&t, "120", 2));
	/* All names fail: what was found stays. */
	s.behaviour = 'f';
	refresh(&t);
	cr_assert(!t.p.changed);
	cr_expect(has_found(&t, "120", 6));
	/* No name exists any more. */
	s.behaviour = 'n';
	refresh(&t);
	cr_assert(t.p.changed);
	cr_expect(has_found(&t, "0000", 6));
	close_names(&t);
	server_end(&s);
}

Test(dns_sd, second_server_is_asked_when_the_first_fails)
{
	static const char behaviours[] = "fgsic";
	struct server s[2];
	char servers[100];

	server_begin(&s[0]);
	server_begin(&s[1]);
	snprintf(servers, sizeof(servers), "%s,%s", s[0].address, s[1].address);
	for (const char *b = behaviours; *b; b++) {
		struct dns_test t;
		bool moves_on;

		s[0].behaviour = *b;
		s[0].asked = s[1].asked = 0;
		open_names(&t, servers, NAMES("ok.example."));
		refresh(&t);
		/* Older versions of c-ares do not parse responses: 'g'. */
		moves_on = *b != 'g' || s[1].asked;
		cr_expect(has_found(&t, moves_on ? "1" : "", !moves_on), "%c",
			  *b);
		cr_expect(s[0].asked >= 1);
		close_names(&t);
	}
	/* NXDOMAIN is an answer. */
	s[0].behaviour = 'n';
	s[1].asked = 0;
	struct dns_test t;
	open_names(&t, servers, NAMES("ok.example."));
	refresh(&t);
	cr_assert(has_found(&t, "0", 0));
	cr_expect(!s[1].asked);
	close_names(&t);
	server_end(&s[0]);
	server_end(&s[1]);
}

/* A provider that is closed during a refresh leaves nothing behind. */
Test(dns_sd, close_during_a_refresh)
{
	struct server s;
	struct dns_test t;

	server_begin(&s);
	open_names(&t, s.address, NAMES("silent.example.", "c.example."));
	provider_dns.refresh(&t.p);
	for (int i = 0; i < 5; i++)
		http_poll(t.p.client, 10);
	provider_dns.refresh(&t.p); /* while the first is in progress */
	close_names(&t);
	server_end(&s);
}
