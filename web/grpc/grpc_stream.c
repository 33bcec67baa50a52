/* SPDX-License-Identifier: Apache-2.0 */
#include "web/grpc/grpc_stream.h"

#include <string.h>

#include "base/mem.h"
#include "base/units.h"

/* What HTTP/2 counts for a header beside its texts, in bytes. */
#define HEADER_EXTRA 32
/*
 * What a client may send of a message once it has sent most of the first bytes. With more, it
 * may send the whole message: streams that hold a part of what they need, and wait for the
 * rest, would wait for one another. It is more than INGEST_SMALL, so that what the limiter
 * keeps for small bodies is left for those, and for what handlers need.
 */
#define CREDIT_MIDDLE ((size_t)INGEST_SMALL + 64 * KIB)

/*
 * What a handler is assumed to need beside the message: this, and as much as the message up
 * to a limit. A handler cannot wait.
 */
#define HANDLER_MIN ((size_t)64 * KIB)
#define HANDLER_MAX ((size_t)MIB)

struct grpc_stream *grpc_stream_new(struct grpc_session *session,
				    struct grpc_memory *memory, int32_t id,
				    int64_t now_ns)
{
	struct grpc_stream *s = mem_new(struct grpc_stream);
	struct grpc_call *c = &s->call;

	s->session = session;
	s->memory = memory;
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
	s->memory->unpaid -= (int64_t)s->unpaid;
	s->unpaid = 0;
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

/* Wait for memory; it waits since the first time. */
static void grpc_stream_wait(struct grpc_stream *s, int64_t now_ns)
{
	if (!s->waiting_ns)
		s->waiting_ns = now_ns;
}

/*
 * Let n bytes be there without memory. False: they are not the first ones, or other
 * connections have too many.
 */
static bool grpc_stream_owe(struct grpc_stream *s, size_t n, int64_t now_ns)
{
	if (s->body.len + n > GRPC_STREAM_FIRST ||
	    s->memory->unpaid + (int64_t)n > GRPC_STREAM_UNPAID_MAX)
		return false;
	s->unpaid += n;
	s->memory->unpaid += (int64_t)n;
	grpc_stream_wait(s, now_ns);
	return true;
}

/* Take memory for n more bytes of the body, and for `room` more beside it. */
static bool grpc_stream_take(struct grpc_stream *s, size_t n, size_t room)
{
	return ingest_limiter_take(s->memory->limiter, &s->call.share,
				   (int64_t)(buf_next_cap(&s->body, n) + room));
}

/* Return what the handler of a body is assumed to need beside it, in bytes. */
static size_t grpc_stream_room(size_t length)
{
	return HANDLER_MIN + (length < HANDLER_MAX ? length : HANDLER_MAX);
}

void grpc_stream_add(struct grpc_stream *s, size_t max, struct bytes data,
		     int64_t now_ns)
{
	size_t length;

	if (s->failed.code)
		return;
	if ((s->unpaid || !grpc_stream_take(s, data.len, 0)) &&
	    !grpc_stream_owe(s, data.len, now_ns)) {
		(void)err_set(&s->failed, ERR_LIMIT, GRPC_STREAM_NO_MEMORY);
		return;
	}
	buf_add(&s->body, data.ptr, data.len);
	length = grpc_stream_length(s);
	if (length > max + GRPC_STREAM_PREFIX)
		(void)err_set(
			&s->failed, ERR_TOOBIG,
			"the message has %zu bytes, more than the %zu that --scrape.max-profile-size allows",
			length - GRPC_STREAM_PREFIX, max);
	else if (length && s->body.len > length)
		(void)err_set(
			&s->failed, ERR_INVALID,
			"the request has more than one message, or bytes behind its message");
}

/* Return what the client may send once it has sent most of its credit. */
static size_t grpc_stream_next_credit(const struct grpc_stream *s)
{
	size_t length = grpc_stream_length(s);

	/* What a client announces is nothing; what it has sent counts. */
	if (length <= s->credit || s->body.len < s->credit / 4 * 3)
		return s->credit;
	return length > CREDIT_MIDDLE && s->credit < CREDIT_MIDDLE ?
		       CREDIT_MIDDLE :
		       length;
}

size_t grpc_stream_grant(struct grpc_stream *s, int64_t now_ns)
{
	size_t length = grpc_stream_length(s);
	size_t credit = grpc_stream_next_credit(s);
	size_t more = credit - s->credit;
	size_t n = more && credit > s->body.len ? credit - s->body.len : 0;

	if (!more && !s->unpaid)
		return 0;
	/* With the last part comes what the handler needs, so that it need not wait. */
	if (!grpc_stream_take(
		    s, n, credit == length ? grpc_stream_room(length) : 0)) {
		grpc_stream_wait(s, now_ns);
		return 0;
	}
	s->memory->unpaid -= (int64_t)s->unpaid;
	s->unpaid = 0;
	s->waiting_ns = 0;
	if (!buf_reserve(&s->body, n))
		return 0;
	s->credit = credit;
	return more;
}

bool grpc_stream_prepare(struct grpc_stream *s, int64_t now_ns)
{
	if (!grpc_stream_take(s, 0, grpc_stream_room(s->body.len))) {
		grpc_stream_wait(s, now_ns);
		return false;
	}
	s->waiting_ns = 0;
	return true;
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
