/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP side of a sender: what a request has, and what is read from the
 * answer.
 */
#include "remotewrite/send/write_client.h"

#include "base/hash.h"
#include "tests/support/fake_http.h"

TestSuite(write_client, .timeout = 60);

/* The answer to the next request. */
static struct {
	long status; /* 0: the connection fails; -1: none comes */
	const char *headers;
	const char *body;
	size_t polls;
	int ended;
} answer;

int http_client_new(struct http_client **out, struct err *err UNUSED)
{
	*out = (struct http_client *)mem_new(int);
	return 0;
}

void http_client_free(struct http_client *c)
{
	mem_free(c);
}

void http_wake(struct http_client *c UNUSED)
{
	answer.polls += 100;
}

void http_poll(struct http_client *c UNUSED, int64_t timeout_ms UNUSED)
{
	answer.polls++;
	if (answer.status < 0)
		return;
	if (answer.status)
		fake_http_answer_with(answer.status, answer.headers,
				      answer.body);
	else
		fake_http_break(ERR_AGAIN, "connection refused");
}

static bool never(void *ctx UNUSED)
{
	return false;
}

/* Stops after some polls. */
static bool soon(void *ctx UNUSED)
{
	return answer.polls > 2;
}

/* A client with a message of two samples. */
static struct write_client *client_with(bool zstd)
{
	static const char *const own[] = { "X-Scope: team" };
	const struct write_client_options o = { .url = "http://h/api/v1/write",
						.zstd = zstd,
						.headers = own,
						.header_count = 1,
						.user_agent = "test",
						.timeout_ms = 1000 };
	const struct bytes body = { (const uint8_t *)"a profile", 9 };
	struct write_client *c;

	fake_http_end();
	answer.polls = 0;
	cr_assert(!write_client_new(&o, &c, NULL));
	write_client_begin(c);
	for (int64_t ms = 1; ms <= 2; ms++) {
		const struct logged_sample s = { .ms = ms,
						 .raw_len = 9,
						 .hash = hash_bytes(body),
						 .body = body };

		cr_assert(!write_client_add(c, &s, NULL));
	}
	return c;
}

/* Send the message once. */
static struct attempt send_once(struct write_client *c, unsigned number)
{
	struct attempt a;

	write_client_send(c, number, never, NULL, &a);
	return a;
}

Test(write_client, a_request_says_what_it_has)
{
	struct write_client *c = client_with(true);
	struct attempt a;
	const char *text;

	answer.status = 204;
	answer.headers = "X-Everprof-Samples-Written: 2";
	answer.body = "";
	a = send_once(c, 1);
	cr_assert(a.done);
	cr_assert(a.status == 204);
	cr_assert(a.judged);
	cr_expect(a.written == 2);
	cr_assert(a.samples == 2);
	cr_assert(a.message_len > 18);
	cr_expect(a.body_len > 0);
	cr_expect(!*a.error, "%s", a.error);
	text = fake_http.v.v[0].text;
	cr_expect(strstr(text, "http://h/api/v1/write\n"), "%s", text);
	cr_expect(strstr(text, "\nContent-Encoding: zstd\n"), "%s", text);
	cr_expect(strstr(text, "\nContent-Digest: sha-256=:"), "%s", text);
	cr_expect(strstr(text, "\nX-Scope: team\n"), "%s", text);
	cr_expect(!strstr(text, "Retry-Attempt"), "%s", text);
	(void)send_once(c, 3);
	text = fake_http.v.v[1].text;
	cr_expect(strstr(text, "\nRetry-Attempt: 2\n"), "%s", text);
	write_client_free(c);
	fake_http_end();
}

Test(write_client, the_compression_is_the_configured_one)
{
	struct write_client *c = client_with(false);

	answer.status = 204;
	answer.headers = "X-Everprof-Samples-Written: 2";
	(void)send_once(c, 1);
	cr_expect(strstr(fake_http.v.v[0].text, "Content-Encoding: snappy\n"));
	write_client_free(c);
	fake_http_end();
}

Test(write_client, an_answer_that_is_not_from_a_receiver_is_an_error)
{
	static const struct {
		long status;
		const char *headers;
		const char *why;
		bool judged;
	} cases[] = {
		{ 200, "", "it is probably not from an everprof server",
		  false },
		{ 204, "X-Everprof-Samples-Written: 1",
		  "it is probably not from an everprof server", true },
		{ 204, "X-Everprof-Samples-Written: many",
		  "it is probably not from an everprof server", false },
		{ 503, "Retry-After: 7", "503", false },
		{ 400, "X-Everprof-Samples-Written: 0", "400", true },
		{ 0, "", "connection refused", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct write_client *c = client_with(true);
		struct attempt a;

		answer.status = cases[i].status;
		answer.headers = cases[i].headers;
		answer.body = "";
		a = send_once(c, 1);
		cr_assert(a.done, "%zu", i);
		cr_expect(a.status == cases[i].status, "%zu", i);
		cr_expect(strstr(a.error, cases[i].why), "%s", a.error);
		cr_expect(a.judged == cases[i].judged, "%zu", i);
		cr_expect(a.retry_after_ms == (i == 3 ? 7000 : 0));
		write_client_free(c);
		fake_http_end();
	}
}

Test(write_client, a_request_without_an_answer_can_be_interrupted)
{
	struct write_client *c = client_with(true);
	struct attempt a;

	answer.status = -1;
	write_client_send(c, 1, soon, NULL, &a);
	cr_assert(!a.done);
	cr_expect(!a.status);
	cr_expect(fake_http.v.v[0].is_cancelled);
	write_client_wake(c);
	cr_expect(answer.polls > 100);
	write_client_free(c);
	fake_http_end();
}

Test(write_client, a_damaged_profile_is_not_added)
{
	struct write_client *c = client_with(true);
	const struct logged_sample bad = {
		.ms = 3,
		.raw_len = 9,
		.hash = 1,
		.body = { (const uint8_t *)"a profile", 9 }
	};
	struct err err;
	struct attempt a;

	cr_expect(write_client_add(c, &bad, &err) == ERR_CORRUPT);
	answer.status = 204;
	answer.headers = "X-Everprof-Samples-Written: 2";
	a = send_once(c, 1);
	cr_expect(a.samples == 2);
	/* A new message begins empty. */
	write_client_begin(c);
	a = send_once(c, 1);
	cr_expect(a.samples == 0);
	write_client_free(c);
	fake_http_end();
}
