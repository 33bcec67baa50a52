/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes a session of gRPC with the bytes of a client. They come in pieces of the size that
 * the first byte says; between them time passes, and threads that work on calls end. Every
 * byte of memory that was taken for requests must come back.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "web/grpc/grpc_session.h"

#define MEMORY      (4 << 20)
#define LARGEST     (1 << 20)
#define PENDING_MAX 64
#define PREFACE     "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Calls on which a thread works. */
struct fuzz_pending {
	struct grpc_stream *v[PENDING_MAX];
	size_t count;
	struct ingest_sender sender;
};

/* Let a thread work on a call, if there is one. */
static void fuzz_work(struct fuzz_pending *p, struct grpc_stream *s)
{
	if (p->count == PENDING_MAX)
		return;
	s->is_busy = true;
	p->v[p->count++] = s;
}

static void fuzz_admit(void *ctx, struct grpc_stream *s)
{
	struct fuzz_pending *p = ctx;
	size_t n = strlen(s->call.path) + strlen(s->call.encoding);
	struct err err;
	int64_t ns = 0;

	s->call.share.sender = &p->sender;
	if (*s->call.timeout && !grpc_code_timeout(s->call.timeout, &ns, &err))
		s->call.deadline_ns = ns;
	if (n % 5 == 1) {
		err_set(&err, ERR_DENIED, "%.300s", s->call.path);
		grpc_call_fail(&s->call, &err);
	} else if (n % 5 == 2) {
		fuzz_work(p, s);
	}
}

static void fuzz_run(void *ctx, struct grpc_stream *s)
{
	struct bytes m = s->call.message;

	if (m.len > LARGEST)
		abort();
	buf_add(&s->call.answer, m.ptr, m.len < 40000 ? m.len : 40000);
	if (m.len % 2)
		fuzz_work(ctx, s);
}

static void fuzz_see(void *ctx, const struct grpc_stream *s)
{
	(void)ctx;
	if (s->is_busy && s->state == GRPC_STREAM_ANSWERED)
		abort();
}

/* End the work on the calls but the last `left`. */
static void fuzz_finish(struct fuzz_pending *p, size_t left)
{
	while (p->count > left)
		grpc_session_finish(p->v[--p->count]);
}

/* Feed a session, and let it send. Returns whether it goes on. */
static bool fuzz_step(struct grpc_session *g, struct bytes in)
{
	struct buf out = { 0 };
	struct err err;
	int rc = grpc_session_feed(g, in, &err);

	if (!rc)
		rc = grpc_session_output(g, 1 << 16, &out, &err);
	buf_fini(&out);
	(void)grpc_session_state(g);
	return !rc && !grpc_session_is_over(g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ingest_limiter *limiter = ingest_limiter_new(MEMORY, LARGEST);
	struct grpc_memory memory = { .limiter = limiter };
	const struct grpc_session_options o = {
		.memory = &memory,
		.max_body = LARGEST,
		.read_timeout_ns = 1000000000,
		.call_timeout_ns = 1000000000,
		.idle_ns = 60000000000,
		.admit = fuzz_admit,
		.run = fuzz_run,
		.observe = fuzz_see,
		.reset = fuzz_see,
	};
	struct fuzz_pending p = { .count = 0 };
	struct grpc_session *g = grpc_session_new(&o, &p);
	size_t step = size ? 1 + (size_t)data[0] * 8 : 1;
	int64_t now = clock_mono_ns();
	bool goes_on = fuzz_step(g, bytes_of(str_of(PREFACE)));

	for (size_t at = 1; goes_on && at < size; at += step) {
		size_t n = size - at < step ? size - at : step;

		goes_on = fuzz_step(g, (struct bytes){ data + at, n });
		fuzz_finish(&p, at % 3);
		if (at % 7 == 0)
			grpc_session_tick(g, now += 300000000);
	}
	fuzz_finish(&p, 1);
	grpc_session_free(g);
	fuzz_finish(&p, 0);
	if (ingest_limiter_held(limiter) || memory.unpaid)
		abort();
	ingest_limiter_free(limiter);
	return 0;
}
