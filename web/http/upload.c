/* SPDX-License-Identifier: Apache-2.0 */
#include "web/http/upload.h"

#include "base/units.h"

/*
 * A body of up to this many bytes for which there is no memory is read and
 * dropped; a larger one is refused at once.
 */
#define DROP_MAX MIB

/*
 * Memory that has to be there before a chunked body is received, whose length
 * is not known.
 */
#define CHUNKED_ROOM (256 * KIB)

bool upload_is(const struct exchange *x)
{
	return x->route && x->route->kind == ROUTE_BODY;
}

/*
 * Return the length of the body from Content-Length. Without this header, it is
 * 0, or for a chunked body the part for which there has to be memory.
 * libmicrohttpd has already refused a value that is not a number below 2^64, so a
 * value that is not read is a number that int64_t cannot hold.
 */
static int64_t length_of(struct exchange *x)
{
	const char *text = exchange_header(x, "Content-Length");
	int64_t n = 0;

	if (x->framing == FRAMING_CHUNKED)
		return CHUNKED_ROOM;
	return str_to_i64(str_of(text), &n) || !*text ? n : INT64_MAX;
}

/*
 * Whether the client waits for an answer before it sends the body. Any other
 * client sends the body first, and cannot read an answer that comes earlier.
 */
static bool client_waits(struct exchange *x)
{
	return str_is_nocase(str_of(exchange_header(x, "Expect")),
			     "100-continue");
}

/* Set an error as the answer; the connection is closed after it. */
static bool upload_end(struct exchange *x, int code, const char *why)
{
	exchange_refuse(x, code, why);
	x->closes = true;
	return true;
}

/* Refuse a body that is too large, or read and drop it. */
static bool refuse_large(struct exchange *x, int64_t len)
{
	if (!client_waits(x) && (uint64_t)len <= exchange_drop_max(x)) {
		x->form.over = true;
		return false;
	}
	return upload_end(x, ERR_TOOBIG, UPLOAD_LARGE);
}

/* Refuse a body for which there is no memory, or read and drop it. */
static bool refuse_crowded(struct exchange *x, int64_t len)
{
	if (!client_waits(x) && len <= DROP_MAX) {
		x->crowded = true;
		return false;
	}
	return upload_end(x, ERR_LIMIT, UPLOAD_CROWDED);
}

bool upload_refuse(struct exchange *x)
{
	int64_t len = length_of(x);

	/*
	 * The first request of a connection must arrive within a few seconds.
	 * The sender is authenticated by now, so the body gets the longer time
	 * limit of later requests, but must arrive at a least rate.
	 */
	exchange_turn(x, CONNECTION_RECEIVING);
	x->request.share.sender = &x->client->uploads;
	if ((uint64_t)len > x->server->o.max_body)
		return refuse_large(x, len);
	x->form.max = x->framing == FRAMING_CHUNKED ? x->server->o.max_body :
						      (size_t)len + 1;
	/*
	 * Memory is taken when the body arrives, because a client may announce
	 * a body that it never sends.
	 */
	if (!ingest_limiter_has_room(x->server->o.limiter, &x->request.share,
				     len))
		return refuse_crowded(x, len);
	return false;
}

void upload_add(struct exchange *x, const char *data, size_t len)
{
	/* A body that is refused is read and dropped; it needs no memory. */
	if (x->crowded || x->form.over)
		return;
	if (x->received > x->server->o.max_body) {
		upload_free(x);
		x->form.over = true;
	} else if (ingest_limiter_take(x->server->o.limiter, &x->request.share,
				       (int64_t)buf_next_cap(&x->form, len))) {
		buf_add(&x->form, data, len);
	} else {
		/* The rest is dropped, because the client sends it anyway. */
		upload_free(x);
		x->crowded = true;
	}
}

void upload_free(struct exchange *x)
{
	buf_fini(&x->form);
	ingest_limiter_release(&x->request.share);
}
