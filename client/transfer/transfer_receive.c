/* SPDX-License-Identifier: Apache-2.0 */
#include "client/transfer/transfer_receive.h"

#include <stdatomic.h>
#include <strings.h>

#include "base/mem.h"
#include "client/transfer/transfer.h"

/*
 * Ask the limiter for the memory by which the body's buffer has to grow for
 * `n` more bytes. Returns false if the limiter refuses. The transfer then has
 * to be paused, which applies back-pressure to the sender through TCP;
 * http_resume() resumes the transfer.
 */
static bool transfer_has_room(struct transfer *t, size_t n)
{
	struct http_client *c = t->client;
	/*
	 * The limiter counts the capacity that the buffer will have, not its
	 * length.
	 */
	size_t cap = buf_next_cap(&t->response.body, n);

	if (!c->limiter ||
	    ingest_limiter_take(c->limiter, &t->response.share, (int64_t)cap))
		return true;
	t->wants = cap;
	atomic_fetch_add(&c->waits, 1);
	return false;
}

size_t transfer_on_body(char *p, size_t size, size_t n, void *arg)
{
	struct transfer *t = arg;
	long status = 0;

	if (t->sink)
		curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status == 200)
		return t->sink(t->sink_ctx,
			       (struct bytes){ (const uint8_t *)p, size * n }) ?
			       size * n :
			       0;
	if (!transfer_has_room(t, size * n))
		return CURL_WRITEFUNC_PAUSE;
	buf_add(&t->response.body, p, size * n);
	if (!t->response.body.over)
		return size * n;
	t->response.code = err_set(
		&t->response.err, ERR_TOOBIG,
		"the response body is larger than %zu bytes (%s)", t->max_body,
		t->max_body_name ? t->max_body_name :
				   "a fixed limit of everprof");
	return 0;
}

/*
 * Record a Content-Length. Returns false if it differs from the Content-Length
 * recorded before.
 */
static bool note_length(struct transfer *t, struct str value)
{
	int64_t length = 0;
	bool same;

	if (!str_to_i64(value, &length))
		return true; /* not a number: libcurl refuses the response */
	same = t->content_length < 0 || t->content_length == length;
	t->content_length = length;
	return same;
}

/*
 * Return whether a response has two Content-Length headers that differ. A
 * proxy in between may use the first header, and libcurl the last one, so that
 * they see different responses (response smuggling).
 */
static bool is_ambiguous(struct transfer *t, struct str line)
{
	static const char name[] = "Content-Length:";
	struct str value = line;

	/*
	 * A status line begins another response, for example after a 100
	 * Continue.
	 */
	if (str_starts(line, str_of("HTTP/")))
		t->content_length = -1;
	if (line.len < sizeof(name) ||
	    strncasecmp(line.ptr, name, sizeof(name) - 1) != 0)
		return false;
	value.ptr += sizeof(name) - 1;
	value.len -= sizeof(name) - 1;
	return !note_length(t, str_trim(value));
}

/*
 * Store a header line. Lines of responses before the last one are dropped, so
 * that nothing but the final answer can be taken for it.
 */
static void transfer_keep_header(struct transfer *t, struct str line)
{
	struct http_response *r = &t->response;

	if (str_starts(line, str_of("HTTP/"))) {
		buf_reset(&r->headers);
		t->has_headers = false;
	}
	buf_add(&r->headers, line.ptr, line.len);
	if (!t->has_headers)
		r->trailers_at = r->headers.len;
	t->has_headers |= !str_trim(line).len;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): libcurl's type */
size_t transfer_on_header(char *p, size_t size, size_t n, void *arg)
{
	const struct str line = { .ptr = p, .len = size * n };
	struct transfer *t = arg;

	t->header_bytes += size * n;
	if (is_ambiguous(t, line)) {
		t->response.code = err_set(
			&t->response.err, ERR_CORRUPT,
			"the response has two different Content-Length headers");
		return 0;
	}
	if (t->header_bytes <= HTTP_HEADER_MAX) {
		if (t->keep_headers)
			transfer_keep_header(t, line);
		return size * n;
	}
	t->response.code =
		err_set(&t->response.err, ERR_TOOBIG,
			"the response headers are larger than %d bytes",
			HTTP_HEADER_MAX);
	return 0;
}
