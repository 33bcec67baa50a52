/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An HTTP client without a network: a test reads the requests that wait, and
 * answers them. It takes the place of client/transfer in the program of a test.
 *
 * Ownership: fake_http_end() frees the requests.
 * Threads: one thread.
 */
#ifndef TESTS_SUPPORT_FAKE_HTTP_H
#define TESTS_SUPPORT_FAKE_HTTP_H

#include "base/mem.h"
#include "base/vec.h"
#include "client/transfer/http.h"
#include "tests/check.h"

/* A request that was started. */
struct fake_request {
	char *text; /* "GET url", a line for each header, "" and the body */
	struct http_request r;
	bool is_cancelled;
};

/* All requests, and the first one that has no answer. */
static struct {
	VEC(struct fake_request) v;
	size_t next;
	const char *headers; /* of the answer that is being given */
} fake_http;

void transfer_start(struct http_client *c UNUSED, const struct http_request *r)
{
	struct fake_request *one = vec_add(&fake_http.v);
	struct buf text = { 0 };

	buf_printf(&text, "%s %s\n",
		   r->method ? r->method :
		   r->post   ? "POST" :
			       "GET",
		   r->url);
	for (const char *const *h = r->headers; h && *h; h++)
		buf_printf(&text, "%s\n", *h);
	if (r->aws_scope)
		buf_printf(&text, "signed by %s for %s\n", r->username,
			   r->aws_scope);
	if (r->post && *r->post)
		buf_printf(&text, "\n%s", r->post);
	*one = (struct fake_request){ .text = mem_strdup(buf_cstr(&text)),
				      .r = *r };
	buf_fini(&text);
}

void http_cancel(struct http_client *c UNUSED, const void *ctx)
{
	for (size_t i = fake_http.next; i < fake_http.v.count; i++)
		fake_http.v.v[i].is_cancelled |= !ctx ||
						 fake_http.v.v[i].r.ctx == ctx;
}

/* Return a header of the answer that is being given; empty: it has none. */
struct str http_response_header(const struct http_response *r UNUSED,
				const char *name)
{
	const char *at = fake_http.headers;
	size_t len = strlen(name);

	for (; at && *at; at += strcspn(at, "\n"), at += *at == '\n') {
		if (!strncasecmp(at, name, len) && at[len] == ':')
			return (struct str){ .ptr = at + len + 2,
					     .len = strcspn(at + len + 2,
							    "\n") };
	}
	return str_of("");
}

/* Return the text of the request that has waited longest; "": none waits. */
static const char *fake_http_next(void)
{
	return fake_http.next < fake_http.v.count ?
		       fake_http.v.v[fake_http.next].text :
		       "";
}

/* Return whether the request that has waited longest begins with a text. */
static inline bool fake_http_is(const char *want)
{
	if (str_starts(str_of(fake_http_next()), str_of(want)))
		return true;
	fprintf(stderr, "got \"%s\", want \"%s…\"\n", fake_http_next(), want);
	return false;
}

/* Answer the request that has waited longest. `headers`: "Name: value\n…". */
static void fake_http_answer_with(long status, const char *headers,
				  const char *body)
{
	struct http_response r = { .status = status,
				   .content_type = "application/json",
				   .location = "" };
	struct http_request q;

	cr_assert(fake_http.next < fake_http.v.count, "no request waits");
	q = fake_http.v.v[fake_http.next++].r;
	fake_http.headers = headers;
	buf_str(&r.body, body ? body : "");
	if (q.sink && status == 200) {
		if (!q.sink(q.sink_ctx, buf_bytes(&r.body)))
			r.code = err_set(&r.err, ERR_IO, "aborted");
		buf_reset(&r.body);
	}
	q.done(q.ctx, &r);
	fake_http.headers = NULL;
	buf_fini(&r.body);
}

/* Answer the request that has waited longest. */
static inline void fake_http_answer(long status, const char *body)
{
	fake_http_answer_with(status, "", body);
}

/* End the request that has waited longest without an answer. */
static inline void fake_http_break(int code, const char *why)
{
	struct http_response r = { .content_type = "", .location = "" };
	struct http_request q;

	cr_assert(fake_http.next < fake_http.v.count, "no request waits");
	q = fake_http.v.v[fake_http.next++].r;
	r.code = err_set(&r.err, code, "%s", why);
	q.done(q.ctx, &r);
}

/* Forget all requests. */
static inline void fake_http_end(void)
{
	for (size_t i = 0; i < fake_http.v.count; i++)
		mem_free(fake_http.v.v[i].text);
	vec_fini(&fake_http.v);
	fake_http.next = 0;
}

#endif
