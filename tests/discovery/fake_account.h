/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An account of a service discovery without a provider: a test reads what it
 * asks for, and answers it.
 *
 * Ownership: fake_account_close() frees everything.
 * Threads: one thread.
 */
#ifndef TESTS_DISCOVERY_FAKE_ACCOUNT_H
#define TESTS_DISCOVERY_FAKE_ACCOUNT_H

#include <stdlib.h>

#include "discovery/rest/rest_account.h"
#include "tests/support/fake_http.h"

struct fake_account {
	const struct rest_account_kind *kind;
	void *data;
	struct buf text;
	struct rest_request q; /* the last one */
	struct err err;
};

static void fake_account_open(struct fake_account *a,
			      const struct rest_account_kind *kind,
			      const void *config)
{
	*a = (struct fake_account){ .kind = kind };
	a->data = kind->open(config);
}

static void fake_account_close(struct fake_account *a)
{
	rest_request_fini(&a->q);
	a->kind->close(a->data);
	buf_fini(&a->text);
}

/*
 * Return what the account asks for: "GET url", a line for each header, "" and
 * the body; "ready": nothing; or "error: …".
 */
static const char *fake_account_ask(struct fake_account *a)
{
	struct rest_request *q = &a->q;

	rest_request_fini(q);
	buf_reset(&a->text);
	if (a->kind->next(a->data, q, &a->err)) {
		buf_printf(&a->text, "error: %s", a->err.msg);
		return buf_cstr(&a->text);
	}
	if (!q->url.len)
		return "ready";
	buf_printf(&a->text, "%s %s\n",
		   q->method   ? q->method :
		   q->body.len ? "POST" :
				 "GET",
		   buf_cstr(&q->url));
	for (size_t i = 0; i < q->headers.count; i++)
		buf_printf(&a->text, "%s\n", q->headers.v[i]);
	if (q->aws_scope)
		buf_printf(&a->text, "signed by %s for %s\n", q->key_id,
			   q->aws_scope);
	if (q->body.len)
		buf_printf(&a->text, "\n%s", buf_cstr(&q->body));
	return buf_cstr(&a->text);
}

/* Return whether the account asks for this; "…" at the end: it begins so. */
static bool fake_account_asks(struct fake_account *a, const char *want)
{
	const char *got = fake_account_ask(a);
	size_t len = strlen(want);
	size_t more = strlen("…");

	if (len > more && !strcmp(want + len - more, "…") &&
	    !strncmp(got, want, len - more))
		return true;
	if (!strcmp(got, want))
		return true;
	fprintf(stderr, "got \"%s\"\nwant \"%s\"\n", got, want);
	return false;
}

/* Answer the request. Returns why the answer is not taken; "": it is. */
static const char *fake_account_give(struct fake_account *a, long status,
				     const char *headers, const char *body)
{
	struct http_response r = { .status = status,
				   .content_type = "",
				   .location = "" };
	int rc;

	buf_str(&r.body, body);
	fake_http.headers = headers;
	rc = a->kind->take(a->data, &r, &a->err);
	fake_http.headers = NULL;
	buf_fini(&r.body);
	return rc ? a->err.msg : "";
}

/* Return whether an answer is taken. */
static inline bool fake_account_takes(struct fake_account *a, const char *body)
{
	const char *why = fake_account_give(a, 200, "", body);

	if (*why)
		fprintf(stderr, "refused: %s\n", why);
	return !*why;
}

#endif
