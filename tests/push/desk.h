/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A receiver of pushed profiles whose storage remembers what it is given.
 *
 * Ownership: desk_end() frees.
 * Threads: one thread.
 */
#ifndef TESTS_PUSH_DESK_H
#define TESTS_PUSH_DESK_H

#include "push/receive/push_receiver.h"
#include "tests/check.h"
#include "tests/remotewrite/messages.h"

#define PROFILE_MAX ((size_t)1 << 20)
#define NOW         1795997000000

/* A storage that remembers its samples, and fails as the test says. */
struct shelf {
	struct appender appender; /* first, so that calls can cast it */
	int code;
	int sync_code;
	int64_t again_ms; /* ERR_AGAIN for profiles of this time; 0: none */
	size_t count;
	size_t synced;
	int64_t ms[32];
	char labels[32][300];
};

static inline int shelf_append(struct appender *a, const struct sample *s,
			       uint64_t *lsn, struct err *err)
{
	struct shelf *f = (struct shelf *)a;
	struct buf text = { 0 };

	if (f->code)
		return err_set(err, f->code, "storage says no");
	if (f->again_ms && s->ms == f->again_ms)
		return err_set(err, ERR_AGAIN, "not yet");
	labels_text(s->labels, &text);
	for (size_t i = 0; i < f->count; i++) {
		if (f->ms[i] == s->ms &&
		    !strcmp(f->labels[i], buf_cstr(&text))) {
			buf_fini(&text);
			return err_set(err, ERR_EXISTS, "taken");
		}
	}
	snprintf(f->labels[f->count], sizeof(f->labels[0]), "%s",
		 buf_cstr(&text));
	f->ms[f->count] = s->ms;
	*lsn = ++f->count;
	buf_fini(&text);
	return 0;
}

static inline int shelf_sync(struct appender *a, uint64_t from UNUSED,
			     uint64_t lsn, struct err *err)
{
	struct shelf *f = (struct shelf *)a;

	f->synced = lsn;
	return f->sync_code ? err_set(err, f->sync_code, "no fsync") : 0;
}

struct desk {
	struct shelf shelf;
	struct metrics *metrics;
	struct ingest_limiter *limiter;
	struct clock clock;
	struct push_receiver *r;
	struct push_input in;
	struct ingest_share share;
	struct buf body;
	struct err err;
};

static inline void desk_begin(struct desk *d)
{
	*d = (struct desk){ .shelf = { .appender = { shelf_append,
						     shelf_sync } } };
	d->metrics = metrics_new();
	d->limiter = ingest_limiter_new(64 << 20, (int64_t)PROFILE_MAX);
	clock_set(&d->clock, NOW);
	d->r = push_receiver_new(
		&(struct push_receiver_options){ .appender = &d->shelf.appender,
						 .limiter = d->limiter,
						 .max_profile = PROFILE_MAX,
						 .max_new_series = 2,
						 .clock = &d->clock,
						 .metrics = d->metrics });
	d->in = (struct push_input){
		.content_type = "application/octet-stream",
		.content_encoding = "",
		.address = str_of("10.0.0.7"),
		.name = str_of("shop"),
		.format = str_of("pprof"),
		.share = &d->share,
		.deadline_ns = INT64_MAX,
	};
}

static inline void desk_end(struct desk *d)
{
	push_receiver_free(d->r);
	ingest_limiter_release(&d->share);
	ingest_limiter_free(d->limiter);
	metrics_free(d->metrics);
	buf_fini(&d->body);
}

static inline int desk_take(struct desk *d)
{
	d->in.body = buf_bytes(&d->body);
	d->err = (struct err){ .msg = "" };
	return push_receiver_take(d->r, &d->in, &d->err);
}

/* Make a profile of a type with a time and a duration the body. */
static inline void desk_add_profile(struct buf *out, const char *type,
				    int64_t time_ns, int64_t duration_ns)
{
	struct buf value_type = { 0 };

	put_number(&value_type, 1, 1);
	put_number(&value_type, 2, 2);
	put_field(out, 1, buf_bytes(&value_type));
	put_field(out, 6, (struct bytes){ .len = 0 });
	put_field(out, 6, bytes_of(str_of(type)));
	put_field(out, 6, bytes_of(str_of("count")));
	if (time_ns)
		put_number(out, 9, (uint64_t)time_ns);
	if (duration_ns)
		put_number(out, 10, (uint64_t)duration_ns);
	buf_fini(&value_type);
}

#endif
