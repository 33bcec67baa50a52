/* SPDX-License-Identifier: Apache-2.0 */
#include "web/grpc/grpc_stream.h"

#include <string.h>

#include "base/mem.h"
#include "base/units.h"

/* What HTTP/2 counts for a header beside its texts, in bytes. */
#define HEADER_EXTRA 32
/* The least credit of a large message, in bytes. */
#define CREDIT_MIN ((size_t)64 * KIB)

struct grpc_stream *grpc_stream_new(struct grpc_session *session, int32_t id,
				    int64_t now_ns)
{
	struct grpc_stream *s = mem_new(struct grpc_stream);
	struct grpc_call *c = &s->call;

	s->session = session;
	s->id = id;
	s->credit = GRPC_STREAM_FIRST;
	s->began_ns = now_ns;
	c->deadline_ns = INT64_MAX;
	c->http_method = c->path = c->authority = c->content_type = "";
	c->encoding = c->agent = c->authorization = c->timeout = "";
	c->peer = c->why = "";
	c->status = 200;
	return s;
}

void grpc_stream_drop(struct grpc_stream *s)
{
	s->call.message = (struct bytes){ NULL, 0 };
	s->waiting_ns = 0;
	buf_fini(&s->body);
	ingest_limiter_release(&s->call.share);
}

void grpc_stream_free(struct grpc_stream *s)
{
	grpc_stream_drop(s);
	buf_fini(&s->call.answer);
	arena_fini(&s->call.arena);
	mem_free(s);
}

/* Return the member of a call that has the value of a header; NULL: none. */
static const char **grpc_stream_member(struct grpc_call *c, struct str name)
{
	const struct {
		const char *name;
		const char **member;
	} members[] = {
		{ ":method", &c->http_method },
		{ ":path", &c->path },
		{ ":authority", &c->authority },
		{ "host", &c->authority }, /* of a proxy, in its place */
		{ "content-type", &c->content_type },
		{ "grpc-encoding", &c->encoding },
		{ "user-agent", &c->agent },
		{ "authorization", &c->authorization },
		{ "grpc-timeout", &c->timeout },
	};

	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		if (str_is(name, members[i].name))
			return members[i].member;
	}
	return NULL;
}

void grpc_stream_add_header(struct grpc_stream *s, struct str name,
			    struct str value)
{
	const char **member = grpc_stream_member(&s->call, name);

	s->header_bytes += name.len + value.len + HEADER_EXTRA;
	if (s->header_bytes > GRPC_STREAM_HEADERS_MAX) {
		(void)err_set(&s->failed, ERR_INVALID,
			      "the headers have more than %d KiB",
			      GRPC_STREAM_HEADERS_MAX / 1024);
		return;
	}
	if (member == &s->call.authorization && **member)
		s->call.has_two_authorizations = true;
	else if (member && !**member)
		*member = arena_strndup(&s->call.arena, value);
}

/* Return the length of the body with its prefix; 0: it is not known yet. */
static size_t grpc_stream_length(const struct grpc_stream *s)
{
	const uint8_t *p = s->body.ptr;

	if (s->body.len < GRPC_STREAM_PREFIX)
		return 0;
	return GRPC_STREAM_PREFIX + ((size_t)p[1] << 24 | (size_t)p[2] << 16 |
				     (size_t)p[3] << 8 | (size_t)p[4]);
}

/* Take memory so that the body can have `size` bytes. */
static bool grpc_stream_take(struct grpc_stream *s, struct ingest_limiter *in,
			     size_t size)
{
	size_t more = size - s->body.len;

	return ingest_limiter_take(in, &s->call.share,
				   (int64_t)buf_next_cap(&s->body, more)) &&
	       buf_reserve(&s->body, more);
}

void grpc_stream_add(struct grpc_stream *s, struct ingest_limiter *in,
		     size_t max, struct bytes data)
{
	size_t length;

	if (s->failed.code)
		return;
	if (!ingest_limiter_take(in, &s->call.share,
				 (int64_t)buf_next_cap(&s->body, data.len))) {
		(void)err_set(&s->failed, ERR_LIMIT, GRPC_STREAM_NO_MEMORY);
		return;
	}
	buf_add(&s->body, data.ptr, data.len);
	length = grpc_stream_length(s);
	if (length > max + GRPC_STREAM_PREFIX)
		(void)err_set(
			&s->failed, ERR_TOOBIG,
			"the message has %zu bytes, more than %zu: --scrape.max-profile-size and 2 MiB",
			length - GRPC_STREAM_PREFIX, max);
	else if (length && s->body.len > length)
		(void)err_set(
			&s->failed, ERR_INVALID,
			"the request has more than one message, or bytes behind its message");
}

size_t grpc_stream_grant(struct grpc_stream *s, struct ingest_limiter *in,
			 int64_t now_ns)
{
	size_t length = grpc_stream_length(s);
	size_t credit = 2 * s->credit;
	size_t more;

	/* What a client announces is nothing; what it has sent counts. */
	if (length <= s->credit || s->body.len < s->credit / 4 * 3)
		return 0;
	if (credit < CREDIT_MIN)
		credit = CREDIT_MIN;
	if (credit > length)
		credit = length;
	if (!grpc_stream_take(s, in, credit)) {
		if (!s->waiting_ns)
			s->waiting_ns = now_ns;
		return 0;
	}
	s->waiting_ns = 0;
	more = credit - s->credit;
	s->credit = credit;
	return more;
}

int grpc_stream_finish(struct grpc_stream *s, struct err *err)
{
	struct grpc_call *c = &s->call;
	size_t length = grpc_stream_length(s);

	if (!length || s->body.len != length)
		return err_set(
			err, ERR_INVALID,
			"the request has no message, or only a part of one");
	if (s->body.ptr[0] > 1)
		return err_set(err, ERR_INVALID,
			       "the flags of the message are unknown: 0x%02x",
			       s->body.ptr[0]);
	c->is_compressed = s->body.ptr[0];
	if (c->is_compressed &&
	    (!*c->encoding || !strcmp(c->encoding, "identity")))
		return err_set(
			err, ERR_INVALID,
			"the message is compressed, but the header grpc-encoding does not say how");
	c->message = (struct bytes){ .ptr = s->body.ptr + GRPC_STREAM_PREFIX,
				     .len = length - GRPC_STREAM_PREFIX };
	return 0;
}
