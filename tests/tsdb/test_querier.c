/* SPDX-License-Identifier: Apache-2.0 */
/* Queriers: what they select, list and fetch, wherever profiles are stored. */
#include "model/regex.h"
#include "model/types.h"
#include "tests/tsdb/mishap.h"
#include "tsdb/maintain/deletion.h"

TestSuite(querier, .timeout = 60);

#define WINDOW 480 /* profiles of a series in two hours */

/*
 * Makes a database. Of series 0 to 3, profiles 0 to 4 are in a block, 480 to
 * 484 in a flushed head, and 960 to 964 in the WAL. Series 4 is in the WAL
 * alone.
 */
static struct fixture *three_places(void)
{
	struct fixture *f = setup();

	for (int s = 0; s < 4; s++)
		put_series(f, s, 0, 5);
	cr_assert(!maintain(f, true));
	for (int s = 0; s < 4; s++)
		put_series(f, s, WINDOW, WINDOW + 5);
	cr_assert(!tsdb_flush(f->db, NULL));
	for (int s = 0; s < 5; s++)
		put_series(f, s, 2 * WINDOW, 2 * WINDOW + 5);
	return f;
}

static struct querier *selected(struct fixture *f, const char *selector)
{
	struct querier *q;
	struct selector s;

	cr_assert(!selector_parse(str_of(selector), &s, NULL), "%s", selector);
	querier_open(f->db, NULL, &q);
	cr_assert(!querier_select(q, s.matchers, s.count, INT64_MIN, INT64_MAX,
				  NULL));
	selector_fini(&s);
	return q;
}

/* Writes the numbers of the selected pods as digits, in the order of series. */
static void tell_pods(struct querier *q, char out[16])
{
	size_t n = querier_count(q);

	for (size_t i = 0; i < n && i < 15; i++)
		out[i] = labels_get(querier_labels(q, i), str_of("pod")).ptr[4];
	out[n < 15 ? n : 15] = 0;
}

Test(querier, series_are_selected_in_label_order)
{
	static const struct {
		const char *selector;
		const char *want;
	} cases[] = {
		/* cpu comes before heap: pods 0, 2, 4, then 1, 3. */
		{ "{job=\"test\"}", "02413" },
		{ "cpu", "024" },
		{ "heap", "13" },
		{ "{pod=\"pod-3\"}", "3" },
		{ "{pod=~\"pod-[13]\"}", "13" },
		{ "{pod=~\"pod\"}", "" },
		{ "{pod=~\".*-(0|4)\"}", "04" },
		{ "{job=\"test\",pod!=\"pod-0\"}", "2413" },
		{ "{job=\"test\",pod!~\"pod-[0-3]\"}", "4" },
		{ "{job=\"test\",zone=\"\"}", "02413" },
		{ "{job=\"test\",zone!=\"\"}", "" },
		{ "{job=\"test\",zone=~\"|x\"}", "02413" },
		{ "{job=\"test\",job=\"other\"}", "" },
		{ "{job=~\"t.*\",pod=~\"pod-.\",pod!~\".*[24]\"}", "013" },
	};
	struct fixture *f = three_places();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct querier *q = selected(f, cases[i].selector);
		char got[16];

		tell_pods(q, got);
		cr_expect(!strcmp(got, cases[i].want), "%s: %s",
			  cases[i].selector, got);
		cr_assert(!querier_lost(q));
		cr_expect(!querier_lost_count(q));
		querier_close(q);
	}
	teardown(f);
}

/* Series 1 and 3 are of both lists, and each series is in three parts. */
Test(querier, a_series_of_several_lists_is_selected_once)
{
	static const struct matcher heap = { .op = MATCH_EQ,
					     .name = { "__name__", 8 },
					     .value = { "heap", 4 } };
	static const struct matcher pods[] = {
		{ .op = MATCH_EQ,
		  .name = { "pod", 3 },
		  .value = { "pod-0", 5 } },
		{ .op = MATCH_EQ,
		  .name = { "pod", 3 },
		  .value = { "pod-3", 5 } },
	};
	const struct matcher_list any[] = {
		{ &heap, 1 }, { &pods[0], 1 }, { &pods[1], 1 }, { &pods[1], 1 }
	};
	struct fixture *f = three_places();
	struct querier *q;
	char got[16];

	querier_open(f->db, NULL, &q);
	cr_assert(
		!querier_select_any(q, any, 4, 0, INT64_MIN, INT64_MAX, NULL));
	tell_pods(q, got);
	cr_expect(!strcmp(got, "013"), "%s", got);
	for (size_t i = 0; i < 3; i++) {
		struct times_view t;

		cr_assert(!querier_times(q, i, INT64_MIN, INT64_MAX, &t, NULL));
		cr_expect(t.count == 15, "%zu", t.count);
	}
	cr_assert(
		!querier_select_any(q, any, 0, 0, INT64_MIN, INT64_MAX, NULL));
	cr_expect(!querier_count(q), "no list selects nothing");
	querier_close(q);
	teardown(f);
}

Test(querier, a_few_series_of_each_part_are_enough_for_some)
{
	const struct matcher_list all = { NULL, 0 };
	struct fixture *f = three_places();
	struct querier *q;
	char got[16];

	querier_open(f->db, NULL, &q);
	cr_assert(
		!querier_select_any(q, &all, 1, 2, INT64_MIN, INT64_MAX, NULL));
	/* The first one and one from the middle of each of the three parts. */
	tell_pods(q, got);
	cr_expect(!strcmp(got, "021"), "%s", got);
	querier_close(q);
	teardown(f);
}

/*
 * Append the digit of the pod of a series; select heap, and end the walk at the
 * fifteenth one.
 */
static int note_pod(void *ctx, const struct labels *ls, struct err *err)
{
	struct buf *out = ctx;

	buf_byte(out, (uint8_t)labels_get(ls, str_of("pod")).ptr[4]);
	if (out->len == 15)
		return err_set(err, ERR_LIMIT, "enough");
	return str_is(labels_get(ls, str_of("__name__")), "heap");
}

Test(querier, a_walk_passes_series_of_each_part_and_list)
{
	static const struct matcher pod = { .op = MATCH_EQ,
					    .name = { "pod", 3 },
					    .value = { "pod-4", 5 } };
	const struct matcher_list any[] = { { &pod, 1 }, { &pod, 1 } };
	const struct matcher_list all = { NULL, 0 };
	struct fixture *f = three_places();
	struct times_view times;
	struct buf got = { 0 };
	struct err err = { .msg = "" };
	struct querier *q;

	querier_open(f->db, NULL, &q);
	cr_expect(!querier_walk(q, any, 2, INT64_MIN, INT64_MAX, note_pod, &got,
				NULL));
	cr_expect(check_str(str_from(buf_bytes(&got)), "44"));
	cr_expect(!querier_count(q), "it is no heap");
	buf_reset(&got);
	cr_expect(!querier_walk(q, &all, 1, INT64_MIN, INT64_MAX, note_pod,
				&got, NULL));
	cr_expect(got.len == 13, "four series of three parts, one of one");
	cr_assert(querier_count(q) == 2);
	cr_assert(!querier_times(q, 0, INT64_MIN, INT64_MAX, &times, NULL));
	cr_expect(times.count == 15, "of all parts");
	cr_expect(querier_walk(q, &all, 1, INT64_MIN, INT64_MAX, note_pod, &got,
			       &err) == ERR_LIMIT);
	cr_expect(!strcmp(err.msg, "enough"), "%s", err.msg);
	cr_expect(got.len == 15 && !querier_count(q), "an error ends the walk");
	buf_fini(&got);
	querier_close(q);
	teardown(f);
}

Test(querier, a_selection_without_matchers_is_everything_and_replaces_the_last)
{
	struct fixture *f = three_places();
	struct querier *q = selected(f, "heap");
	char got[16];

	cr_assert(!querier_select(q, NULL, 0, INT64_MIN, INT64_MAX, NULL));
	tell_pods(q, got);
	cr_expect(!strcmp(got, "02413"), "%s", got);
	cr_assert(!querier_select(q, NULL, 0, sample_ms(5 * WINDOW), INT64_MAX,
				  NULL));
	cr_expect(querier_count(q) == 0);
	querier_closep(&q);
	cr_expect(!q);
	querier_close(NULL);
	teardown(f);
}

/*
 * Writes the numbers of the profiles that the first selected series has in a
 * range of time, as "k k k".
 */
static void tell_times(struct querier *q, int64_t from, int64_t to, char *out,
		       size_t size)
{
	struct times_view t = { 0 };
	size_t len = 0;

	*out = 0;
	cr_assert(!querier_times(q, 0, from, to, &t, NULL));
	for (size_t i = 0; i < t.count; i++)
		len += (size_t)snprintf(
			out + len, size - len, "%s%d", i ? " " : "",
			(int)((t.ms[i] - SAMPLE_START) / SAMPLE_STEP));
}

Test(querier, both_ends_of_a_range_count_in_every_place)
{
	static const struct {
		int from;
		int from_ms; /* added to the time of profile `from` */
		int to;
		int to_ms;
		const char *want;
	} cases[] = {
		{ 0, 0, 4, 0, "0 1 2 3 4" },
		{ 0, 1, 4, -1, "1 2 3" },
		{ 2, 0, 2, 0, "2" },
		{ 2, 1, 3, -1, "" },
		{ 3, 0, 2, 0, "" },
		{ 480, 0, 484, 0, "480 481 482 483 484" },
		{ 480, 1, 484, -1, "481 482 483" },
		{ 960, 0, 964, 0, "960 961 962 963 964" },
		{ 960, 1, 964, -1, "961 962 963" },
		{ 4, 0, 480, 0, "4 480" },
		{ 484, 0, 960, 0, "484 960" },
		{ 964, 1, 2000, 0, "" },
		{ -100, 0, -1, 0, "" },
	};
	struct fixture *f = three_places();

	for (int round = 0; round < 2; round++) {
		struct querier *q = selected(f, "{pod=\"pod-1\"}");

		for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
			int64_t from =
				sample_ms(cases[i].from) + cases[i].from_ms;
			int64_t to = sample_ms(cases[i].to) + cases[i].to_ms;
			struct totals_view t = { 0 };
			char got[200];
			size_t n = 0;

			tell_times(q, from, to, got, sizeof(got));
			cr_expect(!strcmp(got, cases[i].want), "%zu: %s", i,
				  got);
			/* Totals list the same profiles. */
			cr_assert(!querier_totals(q, 0, from, to, &t, NULL));
			for (const char *at = got; at && *at; n++) {
				at = strchr(at, ' ');
				at = at ? at + 1 : NULL;
			}
			cr_expect(t.count == n, "%zu: %zu totals", i, t.count);
		}
		querier_close(q);
		reopen(f);
	}
	teardown(f);
}

Test(querier, the_ends_of_time_are_a_range)
{
	struct fixture *f = three_places();
	struct querier *q = selected(f, "{pod=\"pod-4\"}");
	char got[80];

	tell_times(q, INT64_MIN, INT64_MAX, got, sizeof(got));
	cr_expect(!strcmp(got, "960 961 962 963 964"), "%s", got);
	tell_times(q, INT64_MIN, INT64_MIN, got, sizeof(got));
	cr_expect(!*got);
	tell_times(q, INT64_MAX, INT64_MAX, got, sizeof(got));
	cr_expect(!*got);
	querier_close(q);
	teardown(f);
}

Test(querier, a_selection_has_no_series_of_other_times)
{
	static const struct {
		int from;
		int to;
		bool any;
	} cases[] = {
		{ -WINDOW, -WINDOW, false },
		{ 0, 4, true },
		{ 0, 0, true },
		{ 480, 480, true },
		{ 960, 964, true },
		{ 1500, 1600, false },
	};
	struct fixture *f = three_places();
	struct querier *q;

	querier_open(f->db, NULL, &q);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cr_assert(!querier_select(q, NULL, 0, sample_ms(cases[i].from),
					  sample_ms(cases[i].to), NULL));
		cr_expect((querier_count(q) > 0) == cases[i].any, "%zu: %zu", i,
			  querier_count(q));
	}
	querier_close(q);
	teardown(f);
}

/* Texts, each once and sorted. */
struct texts {
	char v[16][24];
	size_t count;
};

static void take_text(void *ctx, struct str text)
{
	struct texts *t = ctx;
	size_t at = t->count;

	for (size_t i = 0; i < t->count; i++) {
		if (str_is(text, t->v[i]))
			return;
	}
	cr_assert(t->count < ARRAY_SIZE(t->v));
	snprintf(t->v[t->count++], sizeof(t->v[0]), "%.*s", STR_ARG(text));
	for (; at && strcmp(t->v[at - 1], t->v[at]) > 0; at--) {
		char other[24];

		memcpy(other, t->v[at], sizeof(other));
		memcpy(t->v[at], t->v[at - 1], sizeof(other));
		memcpy(t->v[at - 1], other, sizeof(other));
	}
}

Test(querier, names_and_values_are_those_of_the_parts_in_the_range)
{
	static const struct {
		const char *name;
		int from;
		int to;
		const char *want;
	} cases[] = {
		{ "", -1000, 2000, "__name__ job pod" },
		{ "job", -1000, 2000, "test" },
		{ "__name__", -1000, 2000, "cpu heap" },
		{ "pod", -1000, 2000, "pod-0 pod-1 pod-2 pod-3 pod-4" },
		{ "pod", 0, 4, "pod-0 pod-1 pod-2 pod-3" },
		{ "pod", 480, 484, "pod-0 pod-1 pod-2 pod-3" },
		{ "pod", 1900, 2000, "" },
		{ "zone", -1000, 2000, "" },
		{ "po", -1000, 2000, "" },
		{ "", 1900, 2000, "" },
	};
	struct fixture *f = three_places();
	struct querier *q = selected(f, "heap");

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct texts t = { .count = 0 };
		char got[200] = "";
		size_t len = 0;

		cr_assert(!querier_texts(
			q, str_of(cases[i].name), sample_ms(cases[i].from),
			sample_ms(cases[i].to), take_text, &t, NULL));
		for (size_t k = 0; k < t.count; k++)
			len += (size_t)snprintf(got + len, sizeof(got) - len,
						"%s%s", k ? " " : "", t.v[k]);
		cr_expect(!strcmp(got, cases[i].want), "%zu: \"%s\"", i, got);
	}
	cr_expect(querier_count(q) == 2, "the selection stays");
	querier_close(q);
	teardown(f);
}

/* How many bytes fetches asked for, and how many more they may ask for. */
struct spending {
	size_t spent;
	size_t left;
};

static int spend(void *ctx, size_t bytes, struct err *err)
{
	struct spending *s = ctx;

	if (bytes > s->left)
		return err_set(err, ERR_LIMIT, "no more than that");
	s->left -= bytes;
	s->spent += bytes;
	return 0;
}

/* Limits that say no once they have been asked so often. */
static int refuse_later(void *ctx, size_t bytes UNUSED, struct err *err)
{
	size_t *left = ctx;

	return (*left)-- ? 0 : err_set(err, ERR_TIMEOUT, "late");
}

/* Counts the texts that it receives. */
static void count_text(void *ctx, struct str text UNUSED)
{
	++*(size_t *)ctx;
}

Test(querier, selections_and_deletions_end_with_their_limits)
{
	struct fixture *f = three_places();
	struct matcher m = { .op = MATCH_RE, .name = str_of("pod") };
	size_t left = 3;
	struct limits limits = { refuse_later, &left };
	struct querier *q;
	struct err err;
	size_t rest = 0;
	size_t texts = 0;

	cr_assert(!regex_new(str_of("pod.*[0-9]"), &m.regex, NULL));
	querier_open(f->db, &limits, &q);
	cr_expect(querier_select(q, &m, 1, INT64_MIN, INT64_MAX, &err) ==
		  ERR_TIMEOUT);
	cr_assert(!strcmp(err.msg, "late"));
	cr_expect(!querier_count(q));
	cr_expect(!querier_lost(q), "a timeout is no damage");
	left = 1000;
	cr_expect(!querier_select(q, &m, 1, INT64_MIN, INT64_MAX, &err));
	cr_expect(querier_count(q) == 5);
	left = 0;
	cr_expect(querier_select(q, &m, 1, INT64_MIN, INT64_MAX, &err) ==
		  ERR_TIMEOUT);
	cr_expect(!querier_count(q), "the last selection is gone");
	left = 0;
	cr_expect(!querier_texts(q, m.name, INT64_MIN, INT64_MAX, count_text,
				 &texts, NULL));
	cr_expect(texts >= 5, "a few texts need no question");
	querier_close(q);
	left = 3;
	cr_expect(tsdb_delete(f->db, &m, 1, INT64_MIN, INT64_MAX, &limits,
			      NULL) == ERR_TIMEOUT);
	querier_open(f->db, NULL, &q);
	cr_assert(!querier_select(q, NULL, 0, INT64_MIN, INT64_MAX, NULL));
	rest = querier_count(q);
	cr_expect(rest == 5, "%zu", rest);
	querier_close(q);
	regex_free(m.regex);
	teardown(f);
}

Test(querier, fetches_ask_before_they_read)
{
	static const int ks[] = { 1, WINDOW + 1, 2 * WINDOW + 1 };
	struct fixture *f = three_places();

	for (size_t i = 0; i < ARRAY_SIZE(ks); i++) {
		struct querier *q = selected(f, "{pod=\"pod-1\"}");
		struct spending s = { .left = 16 };
		struct profile p = { 0 };
		struct buf want = { 0 };
		struct err err;

		sample_bytes(1, ks[i], &want);
		querier_on_spend(q, spend, &s);
		cr_expect(querier_fetch(q, 0, sample_ms(ks[i]), &p, &err) ==
			  ERR_LIMIT);
		cr_assert(!strcmp(err.msg, "no more than that"));
		cr_expect(!p.raw.len);
		s.left = SIZE_MAX / 2;
		cr_expect(!querier_fetch(q, 0, sample_ms(ks[i]), &p, &err));
		cr_expect(bytes_eq(buf_bytes(&p.raw), buf_bytes(&want)));
		cr_expect(s.spent >= want.len, "%zu of %zu", s.spent, want.len);
		cr_expect(querier_memory(q) + p.raw.cap <= s.spent + 4096);
		buf_fini(&want);
		profile_fini(&p);
		querier_close(q);
	}
	teardown(f);
}

Test(querier, fetches_keep_to_the_size_that_is_allowed)
{
	static const int ks[] = { 1, WINDOW + 1, 2 * WINDOW + 1 };
	struct fixture *f = three_places();
	struct querier *q = selected(f, "{pod=\"pod-1\"}");

	for (size_t i = 0; i < ARRAY_SIZE(ks); i++) {
		struct buf want = { 0 };
		struct profile p;

		sample_bytes(1, ks[i], &want);
		p = (struct profile){ .raw = buf_init(want.len - 1) };
		cr_expect(querier_fetch(q, 0, sample_ms(ks[i]), &p, NULL) ==
			  ERR_TOOBIG);
		profile_fini(&p);
		p = (struct profile){ .raw = buf_init(want.len) };
		cr_expect(!querier_fetch(q, 0, sample_ms(ks[i]), &p, NULL));
		cr_expect(bytes_eq(buf_bytes(&p.raw), buf_bytes(&want)));
		profile_fini(&p);
		buf_fini(&want);
	}
	querier_close(q);
	teardown(f);
}

Test(querier, fetches_give_everything_that_was_stored)
{
	struct fixture *f = three_places();

	for (int sequential = 0; sequential < 2; sequential++) {
		struct querier *q = selected(f, "{pod=\"pod-1\"}");
		struct profile p = { 0 };
		struct buf want = { 0 };

		if (sequential)
			querier_sequential(q);
		for (int w = 0; w < 15; w++) {
			int k = w / 5 * WINDOW + w % 5;
			uint64_t hash = 0;
			uint32_t len = 0;

			sample_bytes(1, k, &want);
			cr_assert(!querier_fetch(q, 0, sample_ms(k), &p, NULL));
			cr_expect(
				bytes_eq(buf_bytes(&p.raw), buf_bytes(&want)));
			cr_assert(p.ms == sample_ms(k));
			cr_expect(p.period == k);
			cr_assert(p.sample_count == 3);
			cr_expect(p.duration_ns == 1000);
			cr_expect(p.hash == hash_bytes(buf_bytes(&want)));
			cr_expect(bytes_eq(buf_bytes(&p.typeset),
					   sample_types(1)));
			cr_expect(!querier_stat(q, 0, sample_ms(k), &hash, &len,
						NULL));
			cr_assert(hash == p.hash);
			cr_expect(len == want.len);
			if (w == 7)
				querier_trim(q);
		}
		profile_fini(&p);
		buf_fini(&want);
		querier_close(q);
	}
	teardown(f);
}

Test(querier, a_time_without_a_profile_is_not_found)
{
	static const int ks[] = { -1, 5, WINDOW - 1, WINDOW + 5, 3 * WINDOW };
	struct fixture *f = three_places();
	struct querier *q = selected(f, "{pod=\"pod-1\"}");
	static const bool all[TYPES_MAX] = { true };
	struct querier_row row;
	struct profile p = { 0 };
	uint64_t hash;
	uint32_t len;

	for (size_t i = 0; i < ARRAY_SIZE(ks); i++) {
		int64_t ms = sample_ms(ks[i]);

		cr_expect(querier_fetch(q, 0, ms, &p, NULL) == ERR_NOTFOUND);
		cr_expect(querier_stat(q, 0, ms, &hash, &len, NULL) ==
			  ERR_NOTFOUND);
		cr_expect(querier_rows(q, 0, ms, all, &row, NULL) ==
			  ERR_NOTFOUND);
	}
	/* There is no profile a millisecond after another. */
	cr_expect(querier_fetch(q, 0, sample_ms(1) + 1, &p, NULL) ==
		  ERR_NOTFOUND);
	/* There is a profile at this time, but it is not stored as columns. */
	cr_expect(querier_rows(q, 0, sample_ms(1), all, &row, NULL) ==
		  ERR_UNSUPPORTED);
	cr_expect(!querier_lost(q), "nothing is missing");
	profile_fini(&p);
	querier_close(q);
	teardown(f);
}

/* Append profile k of series 9, with one or two sample types. */
static void put_typed(struct fixture *f, int k, size_t types,
		      int64_t duration_ns)
{
	struct labels *ls = sample_labels(9);
	int64_t totals[2] = { k * 10, -k };
	struct sample s = { .labels = ls,
			    .ms = sample_ms(k),
			    .body = bytes_of(str_of("body")),
			    .raw_len = 4,
			    .typeset = sample_types((int)types - 1),
			    .totals = totals,
			    .duration_ns = duration_ns };
	struct appender *a = tsdb_appender(f->db);
	uint64_t lsn;

	s.hash = hash_bytes(s.body);
	cr_assert(!a->append(a, &s, &lsn, NULL));
	labels_unref(ls);
}

Test(querier, totals_are_those_that_were_appended)
{
	static const size_t types[] = { 1, 1, 2, 1 };
	struct fixture *f = setup();

	for (int k = 0; k < 4; k++)
		put_typed(f, k + 1, types[k], k * 1000);
	for (int place = 0; place < 3; place++) {
		struct querier *q = selected(f, "{pod=\"pod-9\"}");
		struct totals_view t = { 0 };

		cr_assert(
			!querier_totals(q, 0, INT64_MIN, INT64_MAX, &t, NULL));
		cr_assert(t.count == 4, "%d: %zu", place, t.count);
		for (int k = 0; k < 4; k++) {
			const struct totals_row *r = &t.rows[k];

			cr_expect(r->ms == sample_ms(k + 1));
			cr_expect(r->duration_ns == k * 1000);
			cr_assert(r->typeset < t.typeset_count);
			cr_expect(typeset_count(t.typesets[r->typeset]) ==
				  types[k]);
			cr_expect(t.totals[r->first] == (k + 1) * 10);
			if (types[k] == 2)
				cr_expect(t.totals[r->first + 1] == -(k + 1));
		}
		cr_expect(t.typeset_count == 2, "%zu", t.typeset_count);
		querier_close(q);
		cr_expect(place == 0 ? !tsdb_flush(f->db, NULL) :
				       !maintain(f, true));
	}
	teardown(f);
}

Test(querier, types_are_those_of_the_newest_profile_that_is_left)
{
	struct fixture *f = setup();
	struct matcher all = { .op = MATCH_EQ,
			       .name = str_of("job"),
			       .value = str_of("test") };
	static const struct {
		int delete_from; /* first profile that is deleted; -1: none */
		int want;        /* number of types; 0: no profile is left */
	} cases[] = { { -1, 2 }, { 960, 1 }, { 480, 2 }, { 0, 0 } };

	put_typed(f, 1, 2, 0);
	cr_assert(!maintain(f, true));
	put_typed(f, WINDOW, 1, 0);
	cr_assert(!tsdb_flush(f->db, NULL));
	put_typed(f, 2 * WINDOW, 2, 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf types = { 0 };
		struct querier *q;
		int rc;

		if (cases[i].delete_from >= 0)
			cr_assert(!tsdb_delete(f->db, &all, 1,
					       sample_ms(cases[i].delete_from),
					       INT64_MAX, NULL, NULL));
		q = selected(f, "{pod=\"pod-9\"}");
		if (!querier_count(q)) {
			cr_expect(!cases[i].want, "%zu: no series", i);
			querier_close(q);
			continue;
		}
		rc = querier_newest_types(q, 0, &types, NULL);
		cr_expect(rc == (cases[i].want ? 0 : ERR_NOTFOUND), "%zu: %d",
			  i, rc);
		cr_expect((int)typeset_count(buf_bytes(&types)) ==
				  cases[i].want,
			  "%zu", i);
		buf_fini(&types);
		querier_close(q);
	}
	teardown(f);
}

Test(querier, what_is_removed_meanwhile_stays_for_queriers_that_are_open)
{
	struct fixture *f = three_places();
	struct querier *q = selected(f, "{pod=\"pod-1\"}");
	struct profile p = { 0 };
	char got[200];

	/* Heads become blocks, and then the blocks become a larger one. */
	cr_assert(!maintain(f, true));
	cr_assert(!maintain(f, true));
	tell_times(q, INT64_MIN, INT64_MAX, got, sizeof(got));
	cr_expect(!strcmp(got, "0 1 2 3 4 480 481 482 483 484 "
			       "960 961 962 963 964"),
		  "%s", got);
	cr_expect(!querier_fetch(q, 0, sample_ms(1), &p, NULL));
	cr_expect(!querier_fetch(q, 0, sample_ms(WINDOW), &p, NULL));
	cr_expect(!querier_fetch(q, 0, sample_ms(2 * WINDOW), &p, NULL));
	profile_fini(&p);
	querier_close(q);
	teardown(f);
}

Test(querier, memory_is_that_of_the_selection_and_of_what_is_kept)
{
	struct fixture *f = three_places();
	struct profile p = { 0 };
	struct querier *q;
	size_t selection;

	querier_open(f->db, NULL, &q);
	cr_expect(querier_memory(q) == 0);
	cr_assert(!querier_select(q, NULL, 0, INT64_MIN, INT64_MAX, NULL));
	selection = querier_memory(q);
	cr_expect(selection > 5 * sizeof(struct labels));
	querier_sequential(q);
	cr_expect(!querier_fetch(q, 0, sample_ms(1), &p, NULL));
	cr_expect(querier_memory(q) >= selection + p.raw.len);
	querier_trim(q);
	cr_expect(querier_memory(q) < selection + p.raw.len);
	profile_fini(&p);
	querier_close(q);
	teardown(f);
}
