/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queriers over a block, a head block and the WAL at once: the times, totals,
 * types and profiles that they return, their limits, and how they report what
 * is missing.
 */
#include "model/types.h"
#include "tests/tsdb/mishap.h"
#include "tsdb/maintain/deletion.h"

TestSuite(three_parts, .timeout = 60);

#define END 100 /* profiles of each series */

/*
 * Makes a database with series 0 to 2. Of each series, profiles 0 to 39 are in
 * a block, 40 to 79 in the files of a head block, and 80 to 99 only in the WAL.
 */
static struct fixture *setup_parts(void)
{
	struct fixture *f = setup();

	for (int k = 0; k < END; k++) {
		for (int series = 0; series < 3; series++)
			cr_assert(!put(f, series, k));
		if (k == 39)
			cr_assert(!maintain(f, true));
		if (k == 79)
			cr_assert(!tsdb_flush(f->db, NULL));
	}
	cr_assert(stats(f).blocks == 1);
	cr_assert(stats(f).heads == 1);
	cr_expect(stats(f).unflushed == 60);
	return f;
}

static struct querier *select_all(struct fixture *f, int series)
{
	return select_series_of(f, series, INT64_MIN, INT64_MAX);
}

static const struct {
	const char *name;
	int from;
	int to;
	int first;
	int count;
} ranges[] = {
	{ "all", -1000, 1000, 0, END },
	{ "the block", 0, 39, 0, 40 },
	{ "the head", 40, 79, 40, 40 },
	{ "the WAL", 80, 99, 80, 20 },
	{ "across block and head", 39, 40, 39, 2 },
	{ "across head and WAL", 79, 80, 79, 2 },
	{ "the first", 0, 0, 0, 1 },
	{ "the last", 99, 99, 99, 1 },
	{ "before", -9, -1, 0, 0 },
	{ "behind", 100, 999, 0, 0 },
	{ "turned around", 50, 40, 0, 0 },
};

Test(three_parts, times_and_totals_of_all_parts_come_in_order)
{
	struct fixture *f = setup_parts();

	for (size_t i = 0; i < ARRAY_SIZE(ranges) * 2; i++) {
		int series = (int)(i % 2); /* has 1 or 2 sample types */
		const char *name = ranges[i / 2].name;
		int64_t from = sample_ms(ranges[i / 2].from);
		int64_t to = sample_ms(ranges[i / 2].to);
		struct querier *q = select_all(f, series);
		struct times_view t = { 0 };
		struct totals_view v = { 0 };

		cr_expect(!querier_times(q, 0, from, to, &t, NULL));
		cr_expect((int)t.count == ranges[i / 2].count, "%s: %zu", name,
			  t.count);
		for (int k = 0; k < (int)t.count; k++)
			cr_expect(t.ms[k] == sample_ms(ranges[i / 2].first + k),
				  "%s", name);
		cr_expect(!querier_totals(q, 0, from, to, &v, NULL));
		cr_expect((int)v.count == ranges[i / 2].count, "%s: %zu", name,
			  v.count);
		for (int n = 0; n < (int)v.count; n++) {
			const struct totals_row *r = &v.rows[n];
			int k = ranges[i / 2].first + n;

			cr_assert(r->ms == sample_ms(k), "%s", name);
			cr_expect(r->duration_ns == 1000, "%s", name);
			cr_assert(r->typeset < v.typeset_count);
			cr_expect(bytes_eq(v.typesets[r->typeset],
					   sample_types(series)));
			cr_expect(v.totals[r->first] == k, "%s", name);
			if (series)
				cr_expect(v.totals[r->first + 1] == series);
		}
		cr_assert(!querier_lost(q));
		cr_expect(!querier_lost_count(q));
		querier_close(q);
	}
	teardown(f);
}

Test(three_parts, a_selection_replaces_the_one_before)
{
	struct fixture *f = setup_parts();
	struct matcher heap = { .op = MATCH_EQ,
				.name = str_of("__name__"),
				.value = str_of("heap") };
	struct querier *q;

	querier_open(f->db, NULL, &q);
	cr_expect(querier_count(q) == 0);
	cr_assert(!querier_select(q, NULL, 0, INT64_MIN, INT64_MAX, NULL));
	cr_expect(querier_count(q) == 3);
	for (size_t i = 1; i < 3; i++)
		cr_expect(labels_cmp(querier_labels(q, i - 1),
				     querier_labels(q, i)) < 0);
	cr_assert(!querier_select(q, &heap, 1, INT64_MIN, INT64_MAX, NULL));
	cr_expect(querier_count(q) == 1);
	cr_expect(str_is(labels_get(querier_labels(q, 0), str_of("pod")),
			 "pod-1"));
	cr_assert(
		!querier_select(q, &heap, 1, sample_ms(END), INT64_MAX, NULL));
	cr_expect(querier_count(q) == 0);
	cr_assert(
		!querier_select(q, &heap, 1, sample_ms(0), sample_ms(0), NULL));
	cr_expect(querier_count(q) == 1, "the first of the block");
	cr_assert(!querier_select(q, &heap, 1, sample_ms(39), sample_ms(39),
				  NULL));
	cr_expect(querier_count(q) == 1, "its last");
	cr_assert(!querier_select(q, &heap, 1, INT64_MIN, sample_ms(0) - 1,
				  NULL));
	cr_expect(querier_count(q) == 0);
	querier_closep(&q);
	cr_expect(!q);
	querier_close(NULL);
	teardown(f);
}

Test(three_parts, a_profile_is_fetched_wherever_it_is)
{
	static const int ks[] = { 0, 31, 32, 39, 40, 71, 79, 80, 99 };
	struct fixture *f = setup_parts();

	for (int sequential = 0; sequential < 2; sequential++) {
		struct querier *q = select_all(f, 1);
		struct profile p = { 0 };

		if (sequential)
			querier_sequential(q);
		for (size_t i = 0; i < ARRAY_SIZE(ks); i++) {
			struct buf want = { 0 };
			uint64_t hash = 0;
			uint32_t len = 0;

			sample_bytes(1, ks[i], &want);
			cr_expect(is_good(q, 1, ks[i]), "%d", ks[i]);
			cr_expect(!querier_stat(q, 0, sample_ms(ks[i]), &hash,
						&len, NULL));
			cr_assert(hash == hash_bytes(buf_bytes(&want)));
			cr_expect(len == want.len);
			buf_fini(&want);
		}
		for (int k = -1; k <= END; k += END + 1) {
			uint64_t hash;
			uint32_t len;

			cr_expect(querier_fetch(q, 0, sample_ms(k), &p, NULL) ==
				  ERR_NOTFOUND);
			cr_expect(querier_stat(q, 0, sample_ms(k), &hash, &len,
					       NULL) == ERR_NOTFOUND);
		}
		cr_expect(querier_fetch(q, 0, sample_ms(7) + 1, &p, NULL) ==
				  ERR_NOTFOUND,
			  "a millisecond beside it");
		profile_fini(&p);
		querier_close(q);
	}
	teardown(f);
}

Test(three_parts, a_profile_beyond_the_limit_is_not_fetched)
{
	static const int ks[] = { 5, 45, 85 };
	struct fixture *f = setup_parts();
	struct querier *q = select_all(f, 0);

	for (size_t i = 0; i < ARRAY_SIZE(ks); i++) {
		struct buf want = { 0 };
		struct profile p = { 0 };

		sample_bytes(0, ks[i], &want);
		p.raw = buf_init(want.len - 1);
		cr_expect(querier_fetch(q, 0, sample_ms(ks[i]), &p, NULL) ==
				  ERR_TOOBIG,
			  "%d", ks[i]);
		profile_fini(&p);
		p.raw = buf_init(want.len);
		cr_expect(!querier_fetch(q, 0, sample_ms(ks[i]), &p, NULL),
			  "%d", ks[i]);
		cr_expect(bytes_eq(buf_bytes(&p.raw), buf_bytes(&want)));
		profile_fini(&p);
		buf_fini(&want);
	}
	querier_close(q);
	teardown(f);
}

struct purse {
	size_t left;
	int asked;
};

static int spend(void *ctx, size_t bytes, struct err *err)
{
	struct purse *p = ctx;

	p->asked++;
	if (bytes > p->left)
		return err_set(err, ERR_LIMIT, "no memory left");
	p->left -= bytes;
	return 0;
}

Test(three_parts, memory_is_asked_for_before_it_is_used)
{
	static const int ks[] = { 5, 45, 85 };
	struct fixture *f = setup_parts();
	struct metric *read = metrics_counter(
		f->metrics, "everprof_tsdb_value_bytes_read_total", "", NULL);

	for (size_t i = 0; i < ARRAY_SIZE(ks); i++) {
		struct querier *q = select_all(f, 0);
		struct purse purse = { .left = 10 };
		struct profile p = { 0 };
		int64_t before = metric_get(read);

		querier_on_spend(q, spend, &purse);
		cr_expect(querier_fetch(q, 0, sample_ms(ks[i]), &p, NULL) ==
				  ERR_LIMIT,
			  "%d", ks[i]);
		cr_expect(purse.asked > 0);
		if (ks[i] < 80) /* for the WAL, reads count that are refused */
			cr_expect(metric_get(read) == before);
		purse.left = 64 * MIB;
		cr_expect(!querier_fetch(q, 0, sample_ms(ks[i]), &p, NULL));
		cr_expect(purse.left <= 64 * MIB - p.raw.len);
		cr_expect(metric_get(read) > before);
		profile_fini(&p);
		querier_close(q);
	}
	teardown(f);
}

Test(three_parts, what_is_kept_can_be_given_back)
{
	struct fixture *f = setup_parts();
	struct querier *q = select_all(f, 0);
	size_t full;

	querier_sequential(q);
	for (int k = 0; k < 5; k++)
		cr_expect(is_good(q, 0, k));
	full = querier_memory(q);
	querier_trim(q);
	cr_expect(querier_memory(q) < full);
	for (int k = 0; k < END; k++)
		cr_expect(is_good(q, 0, k), "%d", k);
	querier_close(q);
	teardown(f);
}

Test(three_parts, rows_are_for_columns_alone)
{
	struct fixture *f = setup_parts();
	struct querier *q = select_all(f, 1);
	const bool types[2] = { true, true };
	struct querier_row row;

	for (int k = 5; k < END; k += 40)
		cr_expect(querier_rows(q, 0, sample_ms(k), types, &row, NULL) ==
				  ERR_UNSUPPORTED,
			  "%d", k);
	querier_close(q);
	teardown(f);
}

static void add_text(void *ctx, struct str text)
{
	buf_printf(ctx, "%.*s ", STR_ARG(text));
}

Test(three_parts, texts_of_all_parts_are_told)
{
	struct fixture *f = setup_parts();
	struct querier *q = select_all(f, 0);
	struct buf b = { 0 };

	cr_expect(!put(f, 7, END)); /* no block has this series */
	cr_assert(!querier_texts(q, str_of("pod"), INT64_MIN, INT64_MAX,
				 add_text, &b, NULL));
	for (int i = 0; i < 3; i++) {
		char want[16];

		snprintf(want, sizeof(want), "pod-%d ", i);
		cr_expect(strstr(buf_cstr(&b), want) != NULL, "%s",
			  buf_cstr(&b));
	}
	cr_expect(strstr(buf_cstr(&b), "pod-7") != NULL);
	buf_reset(&b);
	cr_assert(!querier_texts(q, str_of("none"), INT64_MIN, INT64_MAX,
				 add_text, &b, NULL));
	cr_expect(b.len == 0);
	cr_assert(
		!querier_texts(q, str_of("pod"), 0, 1000, add_text, &b, NULL));
	cr_expect(b.len == 0, "no part has such times");
	cr_expect(querier_count(q) == 1, "the selection stays");
	buf_fini(&b);
	querier_close(q);
	teardown(f);
}

Test(three_parts, types_are_those_of_the_newest_profile)
{
	struct fixture *f = setup_parts();
	struct querier *q = select_all(f, 1);
	struct buf types = { 0 };
	struct matcher m = { .op = MATCH_EQ,
			     .name = str_of("pod"),
			     .value = str_of("pod-1") };

	cr_expect(!querier_newest_types(q, 0, &types, NULL));
	cr_expect(bytes_eq(buf_bytes(&types), sample_types(1)));
	querier_close(q);
	cr_expect(!tsdb_delete(f->db, &m, 1, INT64_MIN, INT64_MAX, NULL, NULL));
	q = select_all(f, 1);
	buf_reset(&types);
	if (querier_count(q))
		cr_expect(querier_newest_types(q, 0, &types, NULL) ==
			  ERR_NOTFOUND);
	cr_expect(types.len == 0);
	querier_close(q);
	buf_fini(&types);
	teardown(f);
}

Test(three_parts, what_cannot_be_read_is_counted)
{
	struct fixture *f = setup_parts();
	struct querier *q = select_all(f, 0);
	struct totals_view v = { 0 };
	struct times_view t = { 0 };
	uint64_t lost;

	break_sector(f, "/groups", 0, UINT64_MAX);
	cr_expect(!querier_times(q, 0, INT64_MIN, INT64_MAX, &t, NULL));
	cr_expect(t.count == 60, "%zu", t.count);
	lost = querier_lost_count(q);
	cr_expect(lost == 2, "two chunks of the head");
	cr_assert(querier_lost(q));
	cr_expect(querier_lost(q)->code == ERR_IO);
	cr_expect(!querier_totals(q, 0, INT64_MIN, INT64_MAX, &v, NULL));
	cr_assert(v.count == 60);
	cr_expect(querier_lost_count(q) > lost);
	f->hook.sector = NULL;
	querier_close(q);
	q = select_all(f, 0);
	cr_expect(!querier_times(q, 0, INT64_MIN, INT64_MAX, &t, NULL));
	cr_assert(t.count == END, "the disk has recovered");
	cr_expect(!querier_lost(q), "the disk has recovered");
	querier_close(q);
	teardown(f);
}
