/* SPDX-License-Identifier: Apache-2.0 */
/* Deletion, snapshots, inspection, verification and repair of a database. */
#include <dirent.h>

#include "pprof/columns/columns.h"
#include "tests/tsdb/mishap.h"
#include "tests/tsdb/profile.h"
#include "tsdb/maintain/deletion.h"
#include "tsdb/maintain/snapshot.h"
#include "tsdb/maintain/stats.h"
#include "tsdb/tools/inspect.h"
#include "tsdb/tools/repair.h"
#include "tsdb/tools/verify.h"

TestSuite(upkeep, .timeout = 60);

#define WINDOW 480 /* profiles of a series in two hours */

/*
 * Writes the numbers of the profiles that each of the series 0 to 2 still has,
 * such as "0123 01 4".
 */
static void tell_profiles(struct tsdb *db, char *out, size_t size)
{
	struct querier *q;
	size_t len = 0;

	*out = 0;
	querier_open(db, NULL, &q);
	for (int s = 0; s < 3; s++) {
		struct labels *ls = sample_labels(s);
		struct matcher m = { .op = MATCH_EQ,
				     .name = str_of("pod"),
				     .value = labels_get(ls, str_of("pod")) };
		struct times_view t = { 0 };

		cr_assert(
			!querier_select(q, &m, 1, INT64_MIN, INT64_MAX, NULL));
		if (querier_count(q))
			cr_expect(!querier_times(q, 0, INT64_MIN, INT64_MAX, &t,
						 NULL));
		len += (size_t)snprintf(out + len, size - len, "%s",
					s ? " " : "");
		for (size_t i = 0; i < t.count; i++)
			len += (size_t)snprintf(
				out + len, size - len, "%d",
				(int)((t.ms[i] - SAMPLE_START) / SAMPLE_STEP));
		labels_unref(ls);
	}
	querier_close(q);
}

static void expect_profiles(struct tsdb *db, const char *name, const char *want)
{
	char got[200];

	tell_profiles(db, got, sizeof(got));
	cr_expect(!strcmp(got, want), "%s: \"%s\", want \"%s\"", name, got,
		  want);
}

static int delete_from(struct fixture *f, const char *selector, int64_t from,
		       int64_t to)
{
	struct selector s = { .count = 0 };
	int rc;

	if (*selector)
		cr_assert(!selector_parse(str_of(selector), &s, NULL));
	rc = tsdb_delete(f->db, s.matchers, s.count, from, to, NULL, NULL);
	selector_fini(&s);
	return rc;
}

enum place {
	IN_WAL,
	IN_HEAD,
	IN_BLOCK,
	PLACES
};

/* Stores profiles 0 to 4 of series 0 to 2 in the WAL, a head or a block. */
static struct fixture *stored_in(enum place place)
{
	struct fixture *f = setup();

	for (int s = 0; s < 3; s++)
		put_series(f, s, 0, 5);
	if (place == IN_HEAD)
		cr_assert(!tsdb_flush(f->db, NULL));
	if (place == IN_BLOCK)
		cr_assert(!maintain(f, true));
	return f;
}

Test(upkeep, deletions_hide_what_they_name_and_nothing_else)
{
	static const struct {
		const char *selector; /* "": all series */
		int64_t from;         /* in ms after profile 0 */
		int64_t to;
		const char *want;
	} cases[] = {
		{ "", INT64_MIN, INT64_MAX, "  " },
		{ "", 0, 4 * SAMPLE_STEP, "  " },
		{ "", 1, 4 * SAMPLE_STEP - 1, "04 04 04" },
		{ "", SAMPLE_STEP, SAMPLE_STEP, "0234 0234 0234" },
		{ "", SAMPLE_STEP + 1, 2 * SAMPLE_STEP - 1,
		  "01234 01234 01234" },
		{ "", 2 * SAMPLE_STEP, SAMPLE_STEP, "01234 01234 01234" },
		{ "", 4 * SAMPLE_STEP, INT64_MAX, "0123 0123 0123" },
		{ "", INT64_MIN, 0, "1234 1234 1234" },
		{ "", -1000, -1, "01234 01234 01234" },
		{ "", 4 * SAMPLE_STEP + 1, INT64_MAX, "01234 01234 01234" },
		{ "heap", 0, INT64_MAX, "01234  01234" },
		{ "cpu", 2 * SAMPLE_STEP, INT64_MAX, "01 01234 01" },
		{ "{pod=~\"pod-[12]\"}", INT64_MIN, 0, "01234 1234 1234" },
		{ "{pod=\"pod-9\"}", INT64_MIN, INT64_MAX,
		  "01234 01234 01234" },
		{ "{job=\"test\",zone!=\"\"}", INT64_MIN, INT64_MAX,
		  "01234 01234 01234" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (enum place p = 0; p < PLACES; p++) {
			struct fixture *f = stored_in(p);
			int64_t from = cases[i].from == INT64_MIN ?
					       INT64_MIN :
					       sample_ms(0) + cases[i].from;
			int64_t to = cases[i].to == INT64_MAX ?
					     INT64_MAX :
					     sample_ms(0) + cases[i].to;
			char name[40];

			snprintf(name, sizeof(name), "case %zu in place %d", i,
				 (int)p);
			for (int twice = 0; twice < 2; twice++) {
				cr_expect(!delete_from(f, cases[i].selector,
						       from, to));
				expect_profiles(f->db, name, cases[i].want);
			}
			cr_assert(!reopen(f));
			expect_profiles(f->db, name, cases[i].want);
			cr_assert(!maintain(f, true));
			expect_profiles(f->db, name, cases[i].want);
			teardown(f);
		}
	}
}

Test(upkeep, a_failed_deletion_can_be_repeated)
{
	for (enum place p = IN_HEAD; p < PLACES; p++) {
		struct fixture *f = stored_in(p);

		arm(f, FS_SYNC, "tombstones", EIO, -1);
		cr_expect(delete_from(f, "heap", 0, INT64_MAX) == ERR_IO);
		f->hook.times = 0;
		cr_expect(!delete_from(f, "heap", 0, INT64_MAX));
		expect_profiles(f->db, "again", "01234  01234");
		cr_assert(!reopen(f));
		expect_profiles(f->db, "after a restart", "01234  01234");
		teardown(f);
	}
}

Test(upkeep, what_was_deleted_leaves_blocks_when_they_are_cleaned)
{
	struct fixture *f = stored_in(IN_BLOCK);

	cr_expect(stats(f).block_samples == 15);
	cr_expect(!tsdb_clean_tombstones(f->db, NULL, NULL));
	cr_expect(stats(f).block_samples == 15, "nothing to do");
	cr_assert(!delete_from(f, "heap", 0, sample_ms(1)));
	cr_expect(stats(f).block_samples == 15, "hidden");
	cr_expect(!tsdb_clean_tombstones(f->db, NULL, NULL));
	cr_assert(stats(f).block_samples == 13);
	cr_expect(stats(f).blocks == 1);
	expect_profiles(f->db, "some", "01234 234 01234");
	cr_assert(!delete_from(f, "", 0, INT64_MAX));
	cr_expect(!tsdb_clean_tombstones(f->db, NULL, NULL));
	cr_assert(!stats(f).blocks);
	cr_expect(!stats(f).block_bytes);
	teardown(f);
}

/* Checks which profiles a snapshot of the fixture has. */
static void expect_snapshot(struct fixture *f, const char *name,
			    const char *want)
{
	CLEANUP(mem_freep)
	char *path = mem_printf("%s/snapshots/%s", f->dir.path, name);
	struct tsdb_options o = f->o;
	struct tsdb *db = NULL;
	struct err err = { .msg = "" };

	o.path = path;
	o.metrics = metrics_new();
	cr_assert(!tsdb_open(&o, &db, &err), "%s", err.msg);
	expect_profiles(db, name, want);
	tsdb_close(db);
	metrics_free(o.metrics);
}

Test(upkeep, a_snapshot_has_what_was_there_when_it_was_made)
{
	struct fixture *f = stored_in(IN_BLOCK);
	struct err err = { .msg = "" };

	put_series(f, 0, 5, 7);
	cr_assert(!tsdb_snapshot(f->db, "blocks", false, NULL, &err), "%s",
		  err.msg);
	cr_assert(!tsdb_snapshot(f->db, "all", true, NULL, &err), "%s",
		  err.msg);
	cr_assert(!delete_from(f, "heap", 0, INT64_MAX));
	cr_assert(!tsdb_snapshot(f->db, "less", true, NULL, &err), "%s",
		  err.msg);
	put_series(f, 0, 7, 9);
	cr_assert(!maintain(f, true));
	cr_assert(!tsdb_clean_tombstones(f->db, NULL, NULL));
	expect_snapshot(f, "blocks", "01234 01234 01234");
	expect_snapshot(f, "all", "0123456 01234 01234");
	expect_snapshot(f, "less", "0123456  01234");
	expect_profiles(f->db, "the database", "012345678  01234");
	/* A snapshot is refused if its name exists already. */
	cr_expect(tsdb_snapshot(f->db, "all", true, NULL, &err) == ERR_EXISTS);
	cr_expect(strstr(err.msg, "/snapshots/all"), "%s", err.msg);
	expect_snapshot(f, "all", "0123456 01234 01234");
	teardown(f);
}

Test(upkeep, a_snapshot_of_nothing_is_an_empty_database)
{
	struct fixture *f = setup();

	cr_expect(!tsdb_snapshot(f->db, "nothing", true, NULL, NULL));
	expect_snapshot(f, "nothing", "  ");
	teardown(f);
}

static int count_entries(const char *dir)
{
	DIR *d = opendir(dir);
	int n = 0;

	cr_assert(d);
	for (struct dirent *e = readdir(d); e; e = readdir(d))
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

Test(upkeep, a_snapshot_that_fails_leaves_nothing)
{
	struct fixture *f = stored_in(IN_BLOCK);
	CLEANUP(mem_freep)
	char *dir = mem_printf("%s/snapshots", f->dir.path);

	put_series(f, 0, 5, 7);
	arm(f, FS_WRITE, "/snapshots/", ENOSPC, -1);
	cr_expect(tsdb_snapshot(f->db, "full", true, NULL, NULL) ==
		  ERR_NOSPACE);
	cr_expect(count_entries(dir) == 0);
	f->hook.times = 0;
	cr_expect(!tsdb_snapshot(f->db, "full", true, NULL, NULL));
	cr_expect(count_entries(dir) == 1);
	expect_snapshot(f, "full", "0123456 01234 01234");
	teardown(f);
}

/* The parts of a database, in the order in which they are listed. */
struct parts {
	struct tsdb_part v[8];
	size_t count;
};

static void take_part(void *ctx, const struct tsdb_part *p)
{
	struct parts *t = ctx;

	cr_assert(t->count < ARRAY_SIZE(t->v));
	cr_assert(strlen(p->name) == 26);
	t->v[t->count++] = *p;
}

Test(upkeep, parts_are_listed_with_their_numbers)
{
	struct fixture *f = stored_in(IN_BLOCK);
	int64_t window = sample_ms(0) / 7200000 * 7200000;
	struct parts t = { .count = 0 };

	put_series(f, 0, WINDOW, WINDOW + 3);
	cr_assert(!tsdb_flush(f->db, NULL));
	put_series(f, 1, WINDOW, WINDOW + 2);
	tsdb_each_part(f->db, take_part, &t);
	cr_assert(t.count == 2);
	cr_assert(t.v[0].is_block, "blocks first");
	cr_expect(!t.v[1].is_block, "blocks first");
	cr_assert(t.v[0].samples == 15);
	cr_expect(t.v[0].series == 3);
	cr_assert(t.v[0].level == 1);
	cr_expect(t.v[1].level == 0);
	cr_assert(t.v[0].groups == 3);
	cr_expect(t.v[0].bytes == stats(f).block_bytes);
	cr_expect(t.v[0].min_ms == window);
	cr_expect(t.v[0].max_ms == window + 7200000);
	/* Flushed and unflushed profiles count. */
	cr_assert(t.v[1].samples == 5);
	cr_expect(t.v[1].series == 2);
	cr_assert(t.v[1].groups == 1);
	cr_expect(t.v[1].bytes > 0);
	cr_expect(t.v[1].min_ms == window + 7200000);
	cr_expect(t.v[1].max_ms == window + 2 * 7200000);
	cr_assert(stats(f).min_ms >= window);
	cr_expect(stats(f).min_ms <= sample_ms(0));
	cr_expect(stats(f).max_ms == window + 2 * 7200000);
	cr_assert(stats(f).unflushed == 2);
	cr_expect(stats(f).heads == 1);
	teardown(f);
}

/* Rows of statistics as "value=profiles", separated by commas. */
struct rows {
	char text[4000];
	size_t len;
	uint64_t raw;
	uint64_t stored;
};

static void take_row(void *ctx, const struct tsdb_label_stats *s)
{
	struct rows *t = ctx;

	t->len += (size_t)snprintf(t->text + t->len, sizeof(t->text) - t->len,
				   "%s%s=%d", t->len ? "," : "", s->value,
				   (int)s->profiles);
	t->raw += s->raw_bytes;
	t->stored += s->stored_bytes;
}

Test(upkeep, bytes_are_counted_by_label)
{
	static const struct {
		const char *label;
		const char *want;
	} cases[] = {
		{ "__name__", "cpu=10,heap=5" },
		{ "pod", "pod-0=5,pod-1=5,pod-2=5" },
		{ "job", "test=15" },
		{ "zone", "=15" },
	};
	struct buf body = { 0 };
	uint64_t raw = 0;

	for (int i = 0; i < 15; i++) {
		sample_bytes(i % 3, i / 3, &body);
		raw += body.len;
	}
	for (enum place p = 0; p < PLACES; p++) {
		struct fixture *f = stored_in(p);

		for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
			struct rows t = { .len = 0 };

			cr_expect(!tsdb_label_stats(f->db, cases[i].label,
						    take_row, &t, NULL));
			/* Unflushed profiles are in no chunk. */
			cr_expect(!strcmp(t.text,
					  p == IN_WAL ? "" : cases[i].want),
				  "%s", t.text);
			cr_expect(t.raw == (p == IN_WAL ? 0 : raw));
			cr_expect((t.stored > 0) == (p != IN_WAL));
		}
		teardown(f);
	}
	buf_fini(&body);
}

static void put_profile(struct fixture *f, int series, int k)
{
	struct labels *ls = sample_labels(series);
	struct appender *a = tsdb_appender(f->db);
	int64_t totals[2] = { k, series };
	struct buf body = { 0 };
	struct sample s = { .labels = ls,
			    .ms = sample_ms(k),
			    .typeset = sample_types(1),
			    .totals = totals };
	uint64_t lsn;

	profile_make(series, k, &body);
	s.body = buf_bytes(&body);
	s.raw_len = (uint32_t)body.len;
	s.hash = hash_bytes(s.body);
	cr_assert(!a->append(a, &s, &lsn, NULL));
	buf_fini(&body);
	labels_unref(ls);
}

struct told {
	size_t calls;
	size_t last;
	size_t count;
};

static void tell(void *ctx, const char *block, size_t i, size_t count)
{
	struct told *t = ctx;

	cr_assert(strlen(block) == 26);
	cr_expect(i > t->last);
	t->calls++;
	t->last = i;
	t->count = count;
}

/*
 * Two blocks, a day apart, are written without the columns codec. They are
 * recoded once the codec is there; after that, nothing is left to do.
 */
Test(upkeep, blocks_are_encoded_again_once)
{
	struct fixture *f = setup();
	struct told told = { .calls = 0 };
	struct rows t = { .len = 0 };
	size_t recoded = 7;

	clock_set(&f->clock, sample_ms(20 * WINDOW));
	for (int k = 0; k < 200; k++)
		put_profile(f, 0, k);
	cr_assert(!maintain(f, true));
	for (int k = 0; k < 200; k++)
		put_profile(f, 0, 12 * WINDOW + k);
	cr_assert(!maintain(f, true));
	cr_assert(stats(f).blocks == 2);
	cr_expect(!tsdb_recode(f->db, tell, &told, &recoded, NULL));
	cr_assert(!recoded, "there is no codec");
	cr_expect(!told.calls, "there is no codec");
	cr_expect(!tsdb_codec_stats(f->db, take_row, &t, NULL));
	cr_expect(!strcmp(t.text, "zstd=400"), "%s", t.text);
	f->o.columns = &codec_columns;
	cr_assert(!reopen(f));
	cr_expect(!tsdb_recode(f->db, tell, &told, &recoded, NULL));
	cr_assert(recoded == 2);
	cr_expect(told.calls == 2);
	cr_assert(told.last == 2);
	cr_expect(told.count == 2);
	t = (struct rows){ .len = 0 };
	cr_expect(!tsdb_codec_stats(f->db, take_row, &t, NULL));
	cr_expect(!strcmp(t.text, "columns=400,columns: tables=0"), "%s",
		  t.text);
	t = (struct rows){ .len = 0 };
	cr_expect(!tsdb_section_stats(f->db, take_row, &t, NULL));
	cr_assert(strstr(t.text, "columns: "), "%s", t.text);
	cr_expect(t.stored > 0, "%s", t.text);
	cr_expect(!tsdb_recode(f->db, NULL, NULL, &recoded, NULL));
	cr_expect(!recoded, "nothing is left to do");
	cr_expect(count(f) == 400);
	teardown(f);
}

/* The result of a verification. */
struct findings {
	size_t count;
	char what[400];
};

static void take_finding(void *ctx, const char *path, const char *what)
{
	struct findings *t = ctx;

	if (!t->count++)
		snprintf(t->what, sizeof(t->what), "%s: %s", path, what);
}

Test(upkeep, a_whole_directory_is_verified_and_counted)
{
	struct fixture *f = stored_in(IN_BLOCK);
	struct findings found = { .count = 0 };
	struct verify v = { .found = take_finding, .ctx = &found };

	put_series(f, 0, WINDOW, WINDOW + 3);
	cr_assert(!tsdb_flush(f->db, NULL));
	put_series(f, 1, WINDOW, WINDOW + 2);
	/* The database is open while its files are verified. */
	cr_expect(!tsdb_verify(f->dir.path, &v, NULL));
	cr_assert(!found.count, "%s", found.what);
	cr_expect(!v.problems, "%s", found.what);
	cr_assert(v.blocks == 1);
	cr_assert(v.heads == 1);
	cr_expect(v.segments >= 1);
	cr_expect(v.profiles >= 20, "%d", (int)v.profiles);
	cr_expect(v.bytes >= stats(f).block_bytes);
	teardown(f);
}

Test(upkeep, damage_is_found_named_and_repaired)
{
	struct fixture *f = stored_in(IN_BLOCK);
	struct findings found = { .count = 0 };
	struct verify v = { .found = take_finding, .ctx = &found };
	struct tsdb_repair done = { .lost = 7 };
	uint64_t kept;

	cr_expect(!tsdb_repair(f->db, &done, NULL));
	cr_assert(!done.rewritten);
	cr_assert(!done.lost);
	cr_assert(!done.recovered);
	cr_expect(!done.set_aside);
	/* Overwrites 8 bytes in the middle of the file of values. */
	meddle(f, "f=$(ls */values/000001) && printf 'XXXXXXXX' | "
		  "dd of=$f bs=1 seek=$(($(stat -c %s $f) / 2)) conv=notrunc "
		  "2>/dev/null");
	cr_assert(!reopen(f));
	cr_expect(!tsdb_verify(f->dir.path, &v, NULL));
	cr_assert(found.count);
	cr_expect(v.problems == found.count);
	cr_expect(strstr(found.what, f->dir.path), "%s", found.what);
	kept = count(f);
	cr_assert(kept >= 10, "%d", (int)kept);
	cr_expect(kept < 15, "%d", (int)kept);
	cr_expect(!tsdb_repair(f->db, &done, NULL));
	cr_assert(done.rewritten == 1);
	cr_assert(done.lost >= 1);
	cr_expect(done.lost <= 5);
	cr_assert(count(f) == 15 - done.lost);
	cr_expect(count(f) >= kept);
	cr_expect(stats(f).block_samples == count(f));
	found.count = 0;
	v = (struct verify){ .found = take_finding, .ctx = &found };
	cr_expect(!tsdb_verify(f->dir.path, &v, NULL));
	cr_expect(!found.count, "%s", found.what);
	cr_assert(!tsdb_repair(f->db, &done, NULL));
	cr_expect(!done.rewritten);
	teardown(f);
}

Test(upkeep, what_is_no_database_is_not_verified)
{
	static const struct {
		const char *made;
		const char *path;
		int want;
	} cases[] = {
		{ "true", "/none", ERR_NOTFOUND },
		{ "mkdir docs && echo x >docs/letter.txt", "/docs",
		  ERR_INVALID },
		{ "echo x >file", "/file", ERR_IO },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture *f = setup();
		CLEANUP(mem_freep)
		char *path = mem_printf("%s%s", f->dir.path, cases[i].path);
		struct findings found = { .count = 0 };
		struct verify v = { .found = take_finding, .ctx = &found };
		struct err err = { .msg = "" };
		int rc;

		meddle(f, cases[i].made);
		rc = tsdb_verify(path, &v, &err);
		cr_expect(rc == cases[i].want, "%zu: %d %s", i, rc, err.msg);
		cr_expect(strstr(err.msg, cases[i].path), "%s", err.msg);
		cr_assert(!found.count);
		cr_expect(!v.blocks);
		teardown(f);
	}
}

Test(upkeep, statistics_are_zero_in_an_empty_database)
{
	struct fixture *f = setup();
	struct tsdb_stats s;

	tsdb_stats(f->db, &s);
	cr_assert(!s.series);
	cr_assert(!s.head_weight);
	cr_assert(!s.heads);
	cr_expect(!s.blocks);
	cr_assert(!s.block_bytes);
	cr_assert(!s.block_samples);
	cr_expect(!s.unflushed);
	cr_assert(!s.values_bytes);
	cr_assert(!s.groups_bytes);
	cr_expect(!s.open_queriers);
	cr_assert(!s.min_ms);
	cr_assert(!s.max_ms);
	cr_expect(!s.clock_doubt_ms);
	cr_assert(s.unflushed_limit > 0);
	cr_expect(s.wal_limit == 64 * MIB);
	cr_assert(!tsdb_damage(f->db));
	cr_expect(!tsdb_recovered(f->db));
	teardown(f);
}

Test(upkeep, statistics_count_queriers_and_series_once)
{
	struct fixture *f = stored_in(IN_HEAD);
	struct querier *a;
	struct querier *b;

	put_series(f, 0, WINDOW, WINDOW + 1);
	cr_assert(stats(f).series == 3);
	cr_expect(stats(f).head_weight == 4);
	querier_open(f->db, NULL, &a);
	querier_open(f->db, NULL, &b);
	cr_expect(stats(f).open_queriers == 2);
	querier_close(a);
	cr_expect(stats(f).open_queriers == 1);
	querier_close(b);
	cr_expect(stats(f).open_queriers == 0);
	teardown(f);
}
