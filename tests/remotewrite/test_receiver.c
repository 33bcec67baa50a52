/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receiver: which profiles of a request are stored, which are refused for
 * good, and after which errors the sender sends the whole request again.
 */
#include "remotewrite/receive/receiver.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/snappy.h"
#include "base/zstd.h"
#include "tests/check.h"
#include "tests/remotewrite/messages.h"
#include "tests/tsdb/profile.h"

TestSuite(receiver, .timeout = 60);

#define PROFILE_MAX ((size_t)1 << 20)

/* A storage that keeps what it is given, and fails as the test says. */
struct fake_store {
	struct appender appender; /* first, so that calls can cast it */
	int code;                 /* what append() returns */
	int64_t code_ms;          /* for this time; 0: for all */
	int sync_code;            /* what sync() returns */
	size_t appended;
	size_t synced;
	uint64_t from, to;           /* of the last sync */
	enum body_encoding encoding; /* of the last sample */
	uint64_t hash;
};

static int store_append(struct appender *a, const struct sample *s,
			uint64_t *lsn, struct err *err)
{
	struct fake_store *f = (struct fake_store *)a;

	if (f->code && (!f->code_ms || f->code_ms == s->ms))
		return err_set(err, f->code, "storage says no");
	f->encoding = s->encoding;
	f->hash = s->hash;
	*lsn = 100 + f->appended++;
	return 0;
}

static int store_sync(struct appender *a, uint64_t from, uint64_t lsn,
		      struct err *err)
{
	struct fake_store *f = (struct fake_store *)a;

	f->synced++;
	f->from = from;
	f->to = lsn;
	return f->sync_code ? err_set(err, f->sync_code, "no fsync") : 0;
}

struct fixture {
	struct fake_store store;
	struct metrics *metrics;
	struct ingest_limiter *limiter;
	struct receiver *r;
	struct buf series;
	struct buf message;
	struct write_outcome out;
	struct err err;
};

static void fixture_begin(struct fixture *f)
{
	struct receiver_options o;

	memset(f, 0, sizeof(*f));
	f->store.appender = (struct appender){ store_append, store_sync };
	f->metrics = metrics_new();
	f->limiter = ingest_limiter_new(64 << 20, (int64_t)PROFILE_MAX);
	o = (struct receiver_options){ .appender = &f->store.appender,
				       .limiter = f->limiter,
				       .max_profile = PROFILE_MAX,
				       .metrics = f->metrics };
	f->r = receiver_new(&o);
}

static void fixture_end(struct fixture *f)
{
	receiver_free(f->r);
	ingest_limiter_free(f->limiter);
	metrics_free(f->metrics);
	buf_fini(&f->series);
	buf_fini(&f->message);
}

/* Begin the labels of a series. */
static void begin_series(struct fixture *f, const char *job)
{
	put_label(&f->series, "__name__", "cpu");
	put_label(&f->series, "job", job);
}

/* Add a sample whose value is a valid profile. */
static void add_profile(struct fixture *f, int64_t ms)
{
	struct buf value = { 0 };
	struct buf sample = { 0 };

	profile_make(1, (int)(ms / 1000), &value);
	put_field(&sample, 1, buf_bytes(&value));
	put_number(&sample, 2, (uint64_t)ms);
	put_field(&f->series, 2, buf_bytes(&sample));
	buf_fini(&value);
	buf_fini(&sample);
}

/* Send the message with these headers, and forget it. */
static int send_with(struct fixture *f, const char *type, const char *encoding,
		     struct bytes body, int64_t deadline_ns)
{
	struct ingest_share share = { 0 };
	const struct write_input in = { .content_type = type,
					.content_encoding = encoding,
					.content_digest = "",
					.body = body,
					.share = &share,
					.deadline_ns = deadline_ns };
	int rc;

	f->err = (struct err){ .msg = "" };
	rc = receiver_write(f->r, &in, &f->out, &f->err);
	ingest_limiter_release(&share);
	return rc;
}

static int send_message(struct fixture *f)
{
	struct buf body = { 0 };
	int rc;

	if (f->series.len)
		put_series(&f->message, &f->series);
	snappy_add_block(buf_bytes(&f->message), &body);
	rc = send_with(f, "application/x-protobuf", "snappy", buf_bytes(&body),
		       INT64_MAX);
	buf_fini(&body);
	buf_reset(&f->message);
	return rc;
}

Test(receiver, profiles_are_stored_and_synced_once)
{
	struct fixture f;

	fixture_begin(&f);
	begin_series(&f, "a");
	add_profile(&f, 1000);
	add_profile(&f, 2000);
	put_series(&f.message, &f.series);
	begin_series(&f, "b");
	add_profile(&f, 3000);
	cr_expect(!send_message(&f), "%s", f.err.msg);
	cr_assert(f.out.stored == 3);
	cr_expect(!f.out.refused);
	cr_assert(f.store.appended == 3);
	cr_expect(f.store.synced == 1);
	cr_assert(f.store.from == 100);
	cr_expect(f.store.to == 102);
	cr_expect(f.store.encoding == BODY_ZSTD ||
		  f.store.encoding == BODY_PLAIN);
	cr_expect(receiver_counts_of(f.r).stored == 3);
	fixture_end(&f);
}

Test(receiver, refused_profiles_are_named_and_the_others_are_stored)
{
	struct fixture f;

	fixture_begin(&f);
	begin_series(&f, "a");
	add_profile(&f, 1000);
	put_sample(&f.series, "no profile", 2000);
	add_profile(&f, 3000);
	cr_expect(send_message(&f) == ERR_INVALID);
	cr_assert(f.out.stored == 2);
	cr_expect(f.out.refused == 1);
	cr_expect(strstr(f.err.msg,
			 "1 of 3 profiles were refused: cpu{job=\"a\"}"
			 " at 1970-01-01T00:00:02"),
		  "%s", f.err.msg);
	cr_expect(f.store.synced == 1, "the others are durable");
	/* Another profile of the series at that time. */
	f.store.code = ERR_EXISTS;
	f.store.code_ms = 1000;
	begin_series(&f, "a");
	add_profile(&f, 1000);
	add_profile(&f, 3000);
	cr_expect(send_message(&f) == ERR_INVALID);
	cr_assert(f.out.stored == 1);
	cr_expect(f.out.refused == 1);
	cr_expect(receiver_counts_of(f.r).conflicts == 1);
	cr_expect(receiver_counts_of(f.r).refused == 2);
	fixture_end(&f);
}

Test(receiver, a_series_with_bad_labels_is_refused_as_a_whole)
{
	struct fixture f;

	fixture_begin(&f);
	put_label(&f.series, "job", "a"); /* __name__ is missing */
	add_profile(&f, 1000);
	add_profile(&f, 2000);
	put_series(&f.message, &f.series);
	begin_series(&f, "b");
	add_profile(&f, 3000);
	cr_expect(send_message(&f) == ERR_INVALID);
	cr_assert(f.out.stored == 1);
	cr_expect(f.out.refused == 2);
	cr_expect(strstr(f.err.msg, "2 of 3 profiles were refused"), "%s",
		  f.err.msg);
	fixture_end(&f);
}

Test(receiver, temporary_errors_end_the_request)
{
	static const int codes[] = { ERR_LIMIT, ERR_NOSPACE, ERR_IO, ERR_AGAIN,
				     ERR_CLOSED };

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		struct fixture f;

		fixture_begin(&f);
		f.store.code = codes[i];
		f.store.code_ms = 2000;
		begin_series(&f, "a");
		add_profile(&f, 1000);
		add_profile(&f, 2000);
		add_profile(&f, 3000);
		cr_expect(send_message(&f) == codes[i], "%zu", i);
		cr_expect(!f.out.refused, "it may be stored later");
		cr_expect(!f.out.stored, "it was not synced");
		cr_assert(f.store.appended == 1);
		cr_expect(!f.store.synced);
		fixture_end(&f);
	}
}

Test(receiver, what_is_not_durable_is_not_acknowledged)
{
	struct fixture f;

	fixture_begin(&f);
	f.store.sync_code = ERR_IO;
	begin_series(&f, "a");
	add_profile(&f, 1000);
	cr_expect(send_message(&f) == ERR_IO);
	cr_expect(!f.out.stored);
	cr_expect(!receiver_counts_of(f.r).stored);
	fixture_end(&f);
}

Test(receiver, malformed_requests_store_nothing)
{
	static const struct {
		const char *type;
		const char *encoding;
		const char *body;
		int code;
	} cases[] = {
		{ "text/plain", "snappy", "", ERR_MEDIA },
		{ "application/x-protobuf", "br", "", ERR_MEDIA },
		{ "application/x-protobuf", "snappy", "\xff\xff\xff",
		  ERR_INVALID },
		{ "application/x-protobuf", "zstd", "no frame", ERR_INVALID },
		/* 2 GB, says the length of the block. */
		{ "application/x-protobuf", "snappy", "\xff\xff\xff\xff\x07",
		  ERR_TOOBIG },
	};
	struct fixture f;

	fixture_begin(&f);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int rc = send_with(&f, cases[i].type, cases[i].encoding,
				   bytes_of(str_of(cases[i].body)), INT64_MAX);

		cr_expect(rc == cases[i].code, "%zu: %d %s", i, rc, f.err.msg);
		cr_assert(!f.store.appended);
		cr_expect(!f.out.stored);
	}
	fixture_end(&f);
}

Test(receiver, memory_and_time_are_limited)
{
	struct buf body = { 0 };
	struct fixture f;

	fixture_begin(&f);
	begin_series(&f, "a");
	add_profile(&f, 1000);
	put_series(&f.message, &f.series);
	snappy_add_block(buf_bytes(&f.message), &body);
	cr_expect(send_with(&f, "application/x-protobuf", "snappy",
			    buf_bytes(&body), 1) == ERR_TIMEOUT);
	cr_expect(!f.out.refused);
	cr_expect(receiver_max_body(f.r) > PROFILE_MAX);
	cr_expect(ingest_limiter_held(f.limiter) == 0);
	buf_fini(&body);
	fixture_end(&f);
	receiver_free(NULL);
}
