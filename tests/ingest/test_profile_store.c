/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profile store: what it gives to the appender, in which compression, at
 * which time if another profile has the time already, and its tools.
 */
#include "ingest/profile_store.h"

#include "base/gzip.h"
#include "base/hash.h"
#include "base/zstd.h"
#include "tests/check.h"
#include "tests/tsdb/profile.h"

TestSuite(profile_store, .timeout = 60);

#define PROFILE_MAX ((size_t)1 << 20)

/*
 * A storage with one series: it refuses a second profile of the same time, and
 * takes the same profile twice.
 */
struct shelf {
	struct appender appender; /* first, so that calls can cast it */
	int64_t ms[16];
	uint64_t hash[16];
	size_t count;
	size_t calls;
	int code; /* what append() returns; 0: as it is */
	enum body_encoding encoding;
	struct buf body; /* of the last call */
	struct sample last;
};

static int shelf_append(struct appender *a, const struct sample *s,
			uint64_t *lsn, struct err *err)
{
	struct shelf *f = (struct shelf *)a;

	f->calls++;
	f->last = *s;
	buf_reset(&f->body);
	buf_add(&f->body, s->body.ptr, s->body.len);
	if (f->code)
		return err_set(err, f->code, "storage says no");
	for (size_t i = 0; i < f->count; i++) {
		if (f->ms[i] != s->ms)
			continue;
		*lsn = 100 + i;
		return f->hash[i] == s->hash ?
			       0 :
			       err_set(err, ERR_EXISTS, "taken");
	}
	*lsn = 100 + f->count;
	f->ms[f->count] = s->ms;
	f->hash[f->count++] = s->hash;
	return 0;
}

struct desk {
	struct shelf shelf;
	struct profile_store *store;
	struct store_tools *tools;
	struct labels *labels;
	struct buf profile;
	struct err err;
};

static void desk_begin(struct desk *d)
{
	struct labels_builder b = { 0 };

	*d = (struct desk){ .shelf = {
				    .appender = { .append = shelf_append } } };
	d->store = profile_store_new(&(struct profile_store_options){
		.appender = &d->shelf.appender, .max_profile = PROFILE_MAX });
	d->tools = profile_store_take(d->store);
	labels_set(&b, str_of(LABEL_NAME), str_of("cpu"));
	cr_assert(!labels_build(&b, &d->labels, NULL));
	labels_builder_fini(&b);
}

static void desk_end(struct desk *d)
{
	profile_store_give(d->store, d->tools);
	profile_store_free(d->store);
	labels_unref(d->labels);
	buf_fini(&d->profile);
	buf_fini(&d->shelf.body);
}

/* Store a body; returns the error code. */
static int desk_put(struct desk *d, struct bytes body, int64_t ms, bool pack,
		    unsigned nudges, struct store_receipt *out)
{
	const struct store_order order = {
		.labels = d->labels, .ms = ms, .pack = pack, .nudges = nudges
	};
	const struct unpacked *u = NULL;
	int rc = profile_store_unpack(d->tools, body, &u, &d->err);

	cr_assert(!rc == (u != NULL));
	return rc ? rc : profile_store_append(d->tools, &order, out, &d->err);
}

/* Store the profile of a seed, uncompressed. */
static int desk_put_seed(struct desk *d, int seed, int64_t ms, unsigned nudges,
			 struct store_receipt *out)
{
	buf_reset(&d->profile);
	profile_make(1, seed, &d->profile);
	return desk_put(d, buf_bytes(&d->profile), ms, true, nudges, out);
}

Test(profile_store, a_compressed_body_is_stored_as_it_came)
{
	struct store_receipt receipt;
	struct gzip *gzip = gzip_new();
	struct buf packed = { 0 };
	struct desk d;

	desk_begin(&d);
	profile_make(1, 7, &d.profile);
	gzip_compress(gzip, 6, buf_bytes(&d.profile), &packed);
	cr_assert(!desk_put(&d, buf_bytes(&packed), 5, true, 0, &receipt));
	cr_expect(receipt.lsn == 100);
	cr_expect(!receipt.nudged);
	cr_expect(d.shelf.last.encoding == BODY_DEFLATE);
	cr_expect(bytes_eq(buf_bytes(&d.shelf.body), buf_bytes(&packed)));
	cr_expect(d.shelf.last.raw_len == d.profile.len);
	cr_expect(d.shelf.last.hash == hash_bytes(buf_bytes(&d.profile)));
	gzip_free(gzip);
	buf_fini(&packed);
	desk_end(&d);
}

Test(profile_store, an_uncompressed_body_is_packed_on_request)
{
	struct store_receipt receipt;
	struct desk d;

	desk_begin(&d);
	profile_make(1, 7, &d.profile);
	cr_assert(!desk_put(&d, buf_bytes(&d.profile), 5, false, 0, &receipt));
	cr_expect(d.shelf.last.encoding == BODY_PLAIN);
	cr_expect(bytes_eq(buf_bytes(&d.shelf.body), buf_bytes(&d.profile)));
	cr_assert(!desk_put(&d, buf_bytes(&d.profile), 5, true, 0, &receipt));
	cr_expect(d.shelf.last.encoding == BODY_ZSTD);
	cr_expect(d.shelf.body.len < d.profile.len);
	cr_expect(receipt.lsn == 100, "it is the same profile");
	desk_end(&d);
}

Test(profile_store, a_profile_moves_to_the_next_free_time)
{
	struct store_receipt receipt;
	struct desk d;

	desk_begin(&d);
	for (int i = 0; i < 4; i++) {
		cr_assert(!desk_put_seed(&d, i, 1000, 3, &receipt));
		cr_expect(receipt.nudged == (unsigned)i);
		cr_expect(d.shelf.last.ms == 1000 + i);
	}
	/* Again, as after a lost answer: each finds its own bytes. */
	for (int i = 0; i < 4; i++) {
		cr_assert(!desk_put_seed(&d, i, 1000, 3, &receipt));
		cr_expect(receipt.lsn == 100 + (uint64_t)i);
	}
	cr_expect(d.shelf.count == 4);
	d.shelf.calls = 0;
	cr_expect(desk_put_seed(&d, 9, 1000, 3, &receipt) == ERR_EXISTS);
	cr_expect(d.shelf.calls == 1, "the last time is asked for an error");
	desk_end(&d);
}

/* The storage of an agent takes any number of profiles of one time. */
static int blind_append(struct appender *a, const struct sample *s,
			uint64_t *lsn, struct err *err UNUSED)
{
	struct shelf *f = (struct shelf *)a;

	f->ms[f->count++] = s->ms;
	*lsn = 100 + f->count;
	return 0;
}

Test(profile_store, a_storage_that_does_not_look_gets_different_times)
{
	struct store_receipt receipt;
	struct desk d;

	desk_begin(&d);
	d.shelf.appender.append = blind_append;
	for (int i = 0; i < 4; i++)
		cr_assert(!desk_put_seed(&d, i, 1000, 3, &receipt));
	cr_assert(!desk_put_seed(&d, 2, 1000, 3, &receipt), "a retry");
	for (int i = 0; i < 4; i++)
		cr_expect(d.shelf.ms[i] == 1000 + i);
	cr_expect(d.shelf.ms[4] == 1002);
	desk_end(&d);
}

Test(profile_store, only_a_taken_time_is_tried_again)
{
	struct store_receipt receipt;
	struct desk d;

	desk_begin(&d);
	cr_assert(!desk_put_seed(&d, 1, 1000, 0, &receipt));
	cr_expect(desk_put_seed(&d, 2, 1000, 0, &receipt) == ERR_EXISTS);
	d.shelf.code = ERR_NOSPACE;
	d.shelf.calls = 0;
	cr_expect(desk_put_seed(&d, 2, 1000, 9, &receipt) == ERR_NOSPACE);
	cr_expect(d.shelf.calls == 1);
	desk_end(&d);
}

Test(profile_store, what_is_no_profile_or_too_large_is_refused)
{
	struct store_receipt receipt;
	struct buf large = { 0 };
	struct desk d;

	desk_begin(&d);
	cr_expect(desk_put(&d, bytes_of(str_of("hello")), 1, true, 0,
			   &receipt) == ERR_INVALID);
	buf_reserve(&large, PROFILE_MAX + 1);
	memset(large.ptr, 0, PROFILE_MAX + 1);
	large.len = PROFILE_MAX + 1;
	cr_expect(desk_put(&d, buf_bytes(&large), 1, true, 0, &receipt) ==
		  ERR_TOOBIG);
	cr_expect(!d.shelf.calls);
	buf_fini(&large);
	desk_end(&d);
}

Test(profile_store, tools_are_used_again_and_never_shared)
{
	struct desk d;
	struct store_tools *second;

	desk_begin(&d);
	second = profile_store_take(d.store);
	cr_expect(second != d.tools);
	profile_store_give(d.store, second);
	cr_expect(profile_store_take(d.store) == second);
	profile_store_give(d.store, second);
	desk_end(&d);
}

Test(profile_store, errors_that_may_pass_are_told_from_others)
{
	static const int passing[] = { ERR_LIMIT,  ERR_NOSPACE, ERR_IO,
				       ERR_CLOSED, ERR_TIMEOUT, ERR_AGAIN };
	static const int lasting[] = { 0, ERR_INVALID, ERR_EXISTS, ERR_TOOBIG };

	for (size_t i = 0; i < ARRAY_SIZE(passing); i++)
		cr_expect(profile_store_may_retry(passing[i]), "%d",
			  passing[i]);
	for (size_t i = 0; i < ARRAY_SIZE(lasting); i++)
		cr_expect(!profile_store_may_retry(lasting[i]), "%d",
			  lasting[i]);
}
