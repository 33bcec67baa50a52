/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gRPC call: a request and its answer as handlers see them, and the methods that can be
 * called.
 *
 * Ownership: a call is borrowed for the handler's call; its texts are in its arena.
 * Threads: a handler may run in several threads at a time, each with a call of its own.
 */
#ifndef WEB_GRPC_GRPC_CALL_H
#define WEB_GRPC_GRPC_CALL_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/ingest_limiter.h"
#include "web/auth/auth.h"
#include "web/grpc/grpc_code.h"

struct grpc_call;

/* A method that can be called. */
struct grpc_method {
	const char *path; /* "/package.Service/Method"; NULL ends a list */
	/* Answers a call, or sets its error by grpc_call_fail(). */
	void (*handle)(void *ctx, struct grpc_call *c);
	/*
	 * Notes a call that was refused before handle() was called, for the reason
	 * in `why`. NULL: nobody wants to know.
	 */
	void (*refused)(void *ctx, const struct grpc_call *c);
	unsigned scope; /* scopes that the sender needs: a set of enum scope */
	/* whether it answers without credentials, at once, on the server's thread */
	bool is_open;
};

/* A request with one message, and its answer. */
struct grpc_call {
	struct arena arena; /* freed with the call; handlers may use it */
	/* Headers; "" when absent. */
	const char *http_method;
	const char *path;
	const char *authority;
	const char *content_type;
	const char *encoding; /* grpc-encoding */
	const char *agent;    /* user-agent */
	const char *authorization;
	const char *timeout; /* grpc-timeout */
	/* whether there is more than one header authorization */
	bool has_two_authorizations;

	const struct grpc_method *method; /* NULL: there is no such method */
	const char *peer;                 /* the client's IP address as text */
	struct identity who;
	struct bytes message;
	bool is_compressed;        /* the message, as `encoding` says */
	struct ingest_share share; /* accounts for the memory of the message */
	int64_t deadline_ns; /* when the answer is due, on clock_mono_ns() */
	/* whether the client does not want the answer any more */
	_Atomic bool is_cancelled;

	/* The answer. HTTP's status is 200, unless the request is no gRPC. */
	unsigned status;
	enum grpc_code code;
	const char *why;   /* the error, for people; "" if there is none */
	struct buf answer; /* the message */
	bool is_answered;
	bool is_handled; /* the method's handler has seen the call */
};

/* Answer with an error. Drops what the handler has written before. */
static inline void grpc_call_fail(struct grpc_call *c, const struct err *err)
{
	buf_reset(&c->answer);
	c->code = grpc_code_of(err->code);
	c->why = arena_strndup(&c->arena, str_of(err->msg));
	c->is_answered = true;
}

#endif
