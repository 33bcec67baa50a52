/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sealing, compaction, retention and deletion, seen from outside. What goes in
 * comes out, whatever has become of its head block.
 */
#include <errno.h>
#include <ftw.h>
#include <pthread.h>

#include "pprof/columns/columns.h"
#include "tests/tsdb/fixture.h"
#include "tests/tsdb/profile.h"
#include "tsdb/maintain/deletion.h"
#include "tsdb/maintain/snapshot.h"
#include "tsdb/tools/repair.h"
#include "tsdb/tools/verify.h"

TestSuite(block, .timeout = 120);

#define WINDOW 480 /* profiles of a series in two hours */

/* How long a busy machine may keep the threads of a database from working. */
#define PATIENCE_NS 120000000000LL

static void put_all(struct fixture *f, int series, int from, int to)
{
	for (int k = from; k < to; k++) {
		for (int s = 0; s < series; s++)
			cr_expect(!put(f, s, k));
	}
}

static void must_maintain(struct fixture *f, bool all)
{
	struct err err = { .msg = "" };

	cr_expect(!tsdb_maintain(f->db, all, &err), "%s", err.msg);
}

/*
 * Does the same as count_good(), and checks that the list of times has as many
 * profiles.
 */
static int count_kept(struct fixture *f, int series, int from, int to)
{
	struct querier *q =
		select_series_of(f, series, sample_ms(from), sample_ms(to) - 1);
	int good = count_good(f, series, from, to);
	struct times_view t = { 0 };

	if (querier_count(q))
		cr_expect(!querier_times(q, 0, sample_ms(from),
					 sample_ms(to) - 1, &t, NULL));
	cr_expect((int)t.count == good, "%zu listed, %d good", t.count, good);
	querier_close(q);
	return good;
}

static bool all_good(struct fixture *f, int series, int from, int to)
{
	for (int s = 0; s < series; s++) {
		if (count_kept(f, s, from, to) != to - from)
			return false;
	}
	return true;
}

static int delete (struct fixture *f, const char *selector, int from, int to)
{
	struct selector s;
	int rc;

	cr_assert(!selector_parse(str_of(selector), &s, NULL));
	rc = tsdb_delete(f->db, s.matchers, s.count, sample_ms(from),
			 sample_ms(to) - 1, NULL, NULL);
	selector_fini(&s);
	return rc;
}

Test(block, sealed_head_becomes_block_with_all_profiles)
{
	struct fixture *f = setup();

	put_all(f, 5, 0, 100);
	must_maintain(f, true);
	cr_assert(stats(f).heads == 0);
	cr_expect(stats(f).blocks == 1);
	cr_expect(stats(f).block_samples == 500);
	cr_expect(all_good(f, 5, 0, 100));
	reopen(f);
	cr_assert(stats(f).heads == 0);
	cr_expect(stats(f).blocks == 1);
	cr_expect(all_good(f, 5, 0, 100));
	cr_expect(stats(f).wal_bytes < 512, "a clean stop leaves no WAL");
	teardown(f);
}

Test(block, listing_times_of_a_block_reads_no_values)
{
	struct fixture *f = setup();
	struct metric *read = metrics_counter(
		f->metrics, "everprof_tsdb_value_bytes_read_total",
		"Stored bytes of profiles read to answer queries.", NULL);
	struct profile p = { 0 };
	struct times_view t = { 0 };
	struct querier *q;

	put_all(f, 4, 0, 100);
	must_maintain(f, true);
	querier_open(f->db, NULL, &q);
	cr_assert(!querier_select(q, NULL, 0, INT64_MIN, INT64_MAX, NULL));
	cr_expect(querier_count(q) == 4);
	for (size_t i = 0; i < querier_count(q); i++) {
		cr_assert(!querier_times(q, i, 0, INT64_MAX, &t, NULL));
		cr_expect(t.count == 100);
	}
	cr_expect(metric_get(read) == 0);
	cr_expect(!querier_fetch(q, 0, sample_ms(5), &p, NULL));
	cr_expect(metric_get(read) > 0);
	profile_fini(&p);
	querier_close(q);
	teardown(f);
}

Test(block, heads_are_sealed_after_their_window_when_idle)
{
	struct fixture *f = setup();
	int64_t window = sample_ms(0) / 7200000 * 7200000;

	clock_set(&f->clock, window + 7200000 + 3599999);
	put_all(f, 2, 0, 10);
	must_maintain(f, false);
	cr_expect(stats(f).blocks == 0, "within the hour of grace");
	clock_set(&f->clock, window + 7200000 + 3600000 + 599000);
	must_maintain(f, false);
	cr_expect(stats(f).blocks == 0, "not idle for ten minutes");
	clock_set(&f->clock, window + 7200000 + 3600000 + 600000);
	must_maintain(f, false);
	cr_expect(stats(f).blocks == 1);
	cr_expect(all_good(f, 2, 0, 10));
	teardown(f);
}

Test(block, late_data_for_a_sealed_window_is_merged)
{
	struct fixture *f = setup();

	for (int k = 0; k < 300; k += 2)
		put_all(f, 3, k, k + 1);
	must_maintain(f, true);
	for (int k = 1; k < 300; k += 2)
		put_all(f, 4, k, k + 1);
	cr_expect(all_good(f, 3, 0, 300), "a block and a range");
	must_maintain(f, true);
	cr_expect(all_good(f, 3, 0, 300));
	cr_expect(count_kept(f, 3, 0, 300) == 150);
	must_maintain(f, true);
	cr_expect(stats(f).blocks <= 2, "%d", (int)stats(f).blocks);
	cr_expect(all_good(f, 3, 0, 300));
	reopen(f);
	cr_expect(all_good(f, 3, 0, 300));
	teardown(f);
}

Test(block, duplicates_succeed_and_conflicts_fail_for_times_in_blocks)
{
	struct fixture *f = setup();
	struct labels *ls = sample_labels(0);
	struct buf body = { 0 };
	struct sample s = { .labels = ls,
			    .ms = sample_ms(5),
			    .typeset = sample_types(0),
			    .totals = (int64_t[]){ 1, 2 } };
	struct appender *a = tsdb_appender(f->db);
	uint64_t lsn;

	put_all(f, 2, 0, 20);
	must_maintain(f, true);
	for (int k = 0; k < 20; k++)
		cr_expect(!put(f, 0, k));
	cr_expect(stats(f).unflushed == 0);
	buf_str(&body, "another");
	s.body = buf_bytes(&body);
	s.raw_len = (uint32_t)body.len;
	s.hash = hash_bytes(s.body);
	cr_expect(a->append(a, &s, &lsn, NULL) == ERR_EXISTS);
	cr_expect(!delete (f, "{pod=\"pod-0\"}", 5, 6));
	cr_expect(!a->append(a, &s, &lsn, NULL),
		  "a deleted one is no duplicate");
	cr_expect(count_kept(f, 0, 0, 5) == 5);
	buf_fini(&body);
	labels_unref(ls);
	teardown(f);
}

Test(block, compaction_by_levels_keeps_every_profile)
{
	struct fixture *f = setup();
	int end = 14 * WINDOW;

	clock_set(&f->clock, sample_ms(end));
	for (int w = 0; w < 14; w++) {
		for (int k = 0; k < WINDOW; k += 16)
			put_all(f, 3, w * WINDOW + k, w * WINDOW + k + 1);
	}
	must_maintain(f, true);
	cr_expect(stats(f).blocks < 14, "%d blocks", (int)stats(f).blocks);
	for (int k = 0; k < end; k += 16) {
		for (int s = 0; s < 3; s++)
			cr_expect(count_kept(f, s, k, k + 1) == 1, "%d", k);
	}
	reopen(f);
	cr_expect(count_kept(f, 1, 0, end) == end / 16);
	teardown(f);
}

Test(block, deletion_hides_profiles_in_heads_wal_and_blocks)
{
	struct fixture *f = setup();

	put_all(f, 4, 0, 40);
	must_maintain(f, true); /* a block */
	put_all(f, 4, 500, 540);
	cr_expect(!tsdb_flush(f->db, NULL)); /* in the files of a head */
	put_all(f, 4, 540, 560);             /* in the WAL */
	for (int round = 0; round < 4; round++) {
		if (!round)
			cr_expect(!delete (f, "{pod=~\"pod-(1|2)\"}", 20, 550));
		if (round == 1)
			reopen(f);
		if (round == 2)
			cr_expect(!tsdb_clean_tombstones(f->db, NULL, NULL));
		if (round == 3)
			must_maintain(f, true);
		for (int s = 0; s < 4; s++) {
			bool hit = s == 1 || s == 2;

			cr_expect(count_kept(f, s, 0, 20) == 20);
			cr_expect(count_kept(f, s, 20, 40) == (hit ? 0 : 20),
				  "round %d", round);
			cr_expect(count_kept(f, s, 500, 540) == (hit ? 0 : 40));
			cr_expect(count_kept(f, s, 540, 560) ==
				  (hit ? 10 : 20));
		}
	}
	/* Profiles that are stored after the deletion are not hidden. */
	put_all(f, 4, 20, 40);
	put_all(f, 4, 500, 550);
	cr_assert(all_good(f, 4, 0, 40));
	cr_expect(all_good(f, 4, 500, 560));
	reopen(f);
	cr_assert(all_good(f, 4, 0, 40));
	cr_expect(all_good(f, 4, 500, 560));
	must_maintain(f, true);
	cr_assert(all_good(f, 4, 0, 40));
	cr_expect(all_good(f, 4, 500, 560));
	teardown(f);
}

Test(block, profiles_appended_after_a_deletion_are_kept)
{
	struct fixture *f = setup();

	put_all(f, 2, 0, 30);
	cr_expect(!delete (f, "{job=\"test\"}", 0, 30));
	cr_expect(count_kept(f, 0, 0, 30) == 0);
	put_all(f, 2, 0, 30);
	cr_expect(all_good(f, 2, 0, 30));
	reopen(f);
	cr_expect(all_good(f, 2, 0, 30));
	cr_expect(!tsdb_flush(f->db, NULL));
	reopen(f);
	cr_expect(all_good(f, 2, 0, 30));
	must_maintain(f, true);
	cr_expect(all_good(f, 2, 0, 30));
	teardown(f);
}

Test(block, fully_deleted_block_is_removed)
{
	struct fixture *f = setup();

	put_all(f, 2, 0, 30);
	must_maintain(f, true);
	cr_expect(!delete (f, "{job=\"test\"}", 0, 30));
	cr_expect(!tsdb_clean_tombstones(f->db, NULL, NULL));
	cr_expect(stats(f).blocks == 0);
	put_all(f, 2, 30, 60);
	cr_expect(!delete (f, "{job=\"test\"}", 30, 60));
	must_maintain(f, true);
	cr_assert(stats(f).blocks == 0);
	cr_expect(stats(f).heads == 0);
	reopen(f);
	cr_expect(count_kept(f, 0, 0, 60) == 0);
	teardown(f);
}

Test(block, retention_by_time_uses_the_retention_clock)
{
	struct fixture *f = setup();

	f->o.retention_ms = 24ll * 3600 * 1000;
	reopen(f);
	for (int w = 0; w < 16; w++) {
		clock_set(&f->clock, sample_ms(w * WINDOW + 10));
		put_all(f, 2, w * WINDOW, w * WINDOW + 10);
		must_maintain(f, false);
	}
	clock_set(&f->clock, sample_ms(20 * WINDOW));
	must_maintain(f, false);
	/* 24 hours are twelve windows. */
	cr_expect(count_kept(f, 0, 0, 6 * WINDOW) == 0);
	cr_expect(count_kept(f, 0, 9 * WINDOW, 16 * WINDOW) == 70);
	teardown(f);
}

Test(block, clock_jump_does_not_remove_profiles)
{
	struct fixture *f = setup();
	uint64_t before;

	f->o.retention_ms = 24ll * 3600 * 1000;
	reopen(f);
	for (int w = 0; w < 8; w++) {
		clock_set(&f->clock, sample_ms(w * WINDOW + 10));
		put_all(f, 2, w * WINDOW, w * WINDOW + 10);
		must_maintain(f, false);
	}
	before = stats(f).blocks + stats(f).heads;
	clock_set(&f->clock, sample_ms(10000 * WINDOW));
	must_maintain(f, false);
	must_maintain(f, false);
	cr_expect(stats(f).blocks + stats(f).heads >= before - 3);
	cr_expect(count_kept(f, 0, 7 * WINDOW, 8 * WINDOW) == 10);
	teardown(f);
}

Test(block, retention_by_size_limits_the_directory)
{
	struct fixture *f = setup();
	struct tsdb_stats s;

	f->o.retention_bytes = 4 * MIB;
	f->o.wal_budget = MIB / 4;
	f->o.wal_segment = MIB / 16;
	reopen(f);
	for (int w = 0; w < 30; w++) {
		clock_set(&f->clock, sample_ms(w * WINDOW + 40));
		put_all(f, 8, w * WINDOW, w * WINDOW + 40);
		must_maintain(f, w % 2);
		s = stats(f);
		cr_expect(s.wal_bytes + s.values_bytes + s.groups_bytes +
				  s.block_bytes <
			  5 * MIB);
	}
	cr_expect(count_kept(f, 0, 0, WINDOW) == 0, "the oldest went");
	cr_expect(all_good(f, 8, 29 * WINDOW, 29 * WINDOW + 40));
	teardown(f);
}

Test(block, snapshot_opens_as_a_data_directory)
{
	struct fixture *f = setup();
	struct fixture copy = { .metrics = f->metrics, .o = f->o };
	char *path = mem_printf("%s/snapshots/copy", f->dir.path);
	struct err err = { .msg = "" };

	put_all(f, 3, 0, 50);
	must_maintain(f, true);
	put_all(f, 3, 50, 100);
	cr_expect(!tsdb_snapshot(f->db, "copy", true, NULL, &err), "%s",
		  err.msg);
	cr_expect(tsdb_snapshot(f->db, "copy", true, NULL, &err),
		  "it is there");
	put_all(f, 3, 100, 120);
	copy.o.path = path;
	cr_assert(!tsdb_open(&copy.o, &copy.db, &err), "%s", err.msg);
	cr_expect(all_good(&copy, 3, 0, 100));
	cr_expect(count_kept(&copy, 0, 100, 120) == 0);
	tsdb_close(copy.db);
	mem_free(path);
	cr_expect(all_good(f, 3, 0, 120));
	teardown(f);
}

Test(block, the_end_of_the_process_cancels_jobs_that_clients_asked_for)
{
	struct fixture *f = setup();
	char *path = mem_printf("%s/snapshots/copy", f->dir.path);
	struct err err = { .msg = "" };

	put_all(f, 3, 0, 50);
	must_maintain(f, true);
	put_all(f, 3, 50, 100);
	cr_expect(!delete (f, "{job=\"test\"}", 0, 30));
	tsdb_interrupt(f->db);
	cr_expect(tsdb_clean_tombstones(f->db, NULL, &err) == ERR_CLOSED, "%s",
		  err.msg);
	cr_expect(tsdb_snapshot(f->db, "copy", true, NULL, &err) == ERR_CLOSED,
		  "%s", err.msg);
	cr_expect(access(path, F_OK), "the incomplete snapshot is removed");
	reopen(f);
	cr_expect(all_good(f, 3, 30, 100));
	cr_expect(!tsdb_clean_tombstones(f->db, NULL, NULL));
	mem_free(path);
	teardown(f);
}

/* Limits that refuse after `left` questions. */
struct patience {
	int left;
};

static int patience_spend(void *ctx, size_t bytes UNUSED, struct err *err)
{
	struct patience *p = ctx;

	return p->left-- > 0 ? 0 : err_set(err, ERR_TIMEOUT, "too late");
}

/* Whoever asked for a job may have no time for it, at any moment of it. */
Test(block, jobs_end_with_their_limits_and_can_be_repeated)
{
	struct fixture *f = setup();
	char *path = mem_printf("%s/snapshots/copy", f->dir.path);
	struct patience p;
	const struct limits limits = { .spend = patience_spend, .ctx = &p };
	struct err err;

	put_all(f, 3, 0, 50);
	must_maintain(f, true);
	put_all(f, 3, 50, 100);
	cr_expect(!delete (f, "{job=\"test\"}", 0, 30));
	for (int i = 0; i < 3; i++) {
		p.left = i;
		cr_expect(tsdb_clean_tombstones(f->db, &limits, &err) ==
				  ERR_TIMEOUT,
			  "%d: %s", i, err.msg);
	}
	/* One question for each block and head, and one for each series. */
	for (int i = 0; i < 5; i++) {
		p.left = i;
		cr_expect(tsdb_snapshot(f->db, "copy", true, &limits, &err) ==
				  ERR_TIMEOUT,
			  "%d: %s", i, err.msg);
		cr_expect(access(path, F_OK), "%d: it is removed", i);
	}
	cr_expect(all_good(f, 3, 30, 100));
	p.left = 1000;
	cr_expect(!tsdb_clean_tombstones(f->db, &limits, NULL));
	cr_expect(!tsdb_snapshot(f->db, "copy", true, &limits, NULL));
	mem_free(path);
	teardown(f);
}

/* Limits of a job that try, while it runs, what has to wait for it. */
static int confirm_meanwhile(void *ctx, size_t bytes UNUSED,
			     struct err *err UNUSED)
{
	struct fixture *f = ctx;
	struct patience p = { .left = 2 };
	const struct limits limits = { .spend = patience_spend, .ctx = &p };

	cr_expect(tsdb_confirm_clock(f->db, &limits, NULL) == ERR_TIMEOUT);
	cr_expect(p.left == -1, "it has waited");
	return 0;
}

Test(block, nobody_waits_for_a_job_longer_than_its_limits)
{
	struct fixture *f = setup();
	const struct limits limits = { .spend = confirm_meanwhile, .ctx = f };

	put_all(f, 3, 0, 50);
	cr_expect(!tsdb_snapshot(f->db, "copy", true, &limits, NULL));
	cr_expect(!tsdb_confirm_clock(f->db, NULL, NULL));
	teardown(f);
}

/* Columns. The profiles are of two targets, each a stripe with a table. */

static struct fixture *setup_columns(void)
{
	struct fixture *f = setup();

	f->o.columns = &codec_columns;
	reopen(f);
	return f;
}

static void put_profile(struct fixture *f, int series, int k)
{
	struct labels *ls = sample_labels(series);
	int64_t totals[2] = { k, series };
	struct buf body = { 0 };
	struct sample s = { .labels = ls,
			    .ms = sample_ms(k),
			    .typeset = sample_types(1),
			    .totals = totals };
	struct appender *a = tsdb_appender(f->db);
	uint64_t lsn;

	profile_make(series, k, &body);
	s.body = buf_bytes(&body);
	s.raw_len = (uint32_t)body.len;
	s.hash = hash_bytes(s.body);
	cr_expect(!a->append(a, &s, &lsn, NULL));
	buf_fini(&body);
	labels_unref(ls);
}

/* How many of the first n profiles of a series are there, byte for byte. */
static int good_profiles(struct fixture *f, int series, int n)
{
	struct labels *ls = sample_labels(series);
	struct matcher m = { .op = MATCH_EQ,
			     .name = str_of("pod"),
			     .value = labels_get(ls, str_of("pod")) };
	struct profile p = { 0 };
	struct buf want = { 0 };
	struct querier *q;
	int good = 0;

	querier_open(f->db, NULL, &q);
	cr_assert(!querier_select(q, &m, 1, 0, INT64_MAX, NULL));
	for (int k = 0; k < n && querier_count(q); k++) {
		profile_make(series, k, &want);
		good += !querier_fetch(q, 0, sample_ms(k), &p, NULL) &&
			bytes_eq(buf_bytes(&want), buf_bytes(&p.raw));
	}
	querier_close(q);
	profile_fini(&p);
	buf_fini(&want);
	labels_unref(ls);
	return good;
}

#define HALF 200 /* profiles, fewer than a window has */

static void fill_columns(struct fixture *f)
{
	for (int k = 0; k < HALF; k++) {
		for (int s = 0; s < 2; s++)
			put_profile(f, s, k);
	}
	must_maintain(f, true);
	cr_expect(stats(f).blocks == 1);
}

Test(block, compaction_stores_profiles_as_columns)
{
	struct fixture *f = setup_columns();

	fill_columns(f);
	/* A profile has some 800 bytes; as zstd alone it takes 200. */
	cr_expect(stats(f).block_bytes < 2 * HALF * 60);
	for (int s = 0; s < 2; s++)
		cr_expect(good_profiles(f, s, HALF) == HALF);
	reopen(f);
	for (int s = 0; s < 2; s++)
		cr_expect(good_profiles(f, s, HALF) == HALF);
	teardown(f);
}

static char values_file[300];

static int find_values(const char *path, const struct stat *st UNUSED,
		       int type UNUSED, struct FTW *ftw UNUSED)
{
	if (strstr(path, "/values/000001"))
		snprintf(values_file, sizeof(values_file), "%s", path);
	return 0;
}

static void count_problem(void *ctx, const char *path UNUSED, const char *what)
{
	int *tables = ctx;

	*tables += strstr(what, "table") != NULL;
}

static void flip_last_byte(const char *path)
{
	FILE *f = fopen(path, "r+b");
	int c;

	cr_assert(f);
	fseek(f, -1, SEEK_END);
	c = fgetc(f);
	fseek(f, -1, SEEK_END);
	fputc(c ^ 1, f);
	fclose(f);
}

/*
 * The last byte of a values file belongs to the table of its last stripe. If it
 * is damaged, the profiles of the other stripe can still be read.
 */
Test(block, damaged_table_loses_only_its_stripe)
{
	struct fixture *f = setup_columns();
	int tables = 0;
	struct verify v = { .found = count_problem,
			    .ctx = &tables,
			    .columns = &codec_columns };
	int lost;

	fill_columns(f);
	nftw(f->dir.path, find_values, 8, 0);
	flip_last_byte(values_file);
	reopen(f);
	lost = good_profiles(f, 0, HALF) ? 1 : 0;
	cr_expect(good_profiles(f, lost, HALF) == 0);
	cr_expect(good_profiles(f, !lost, HALF) == HALF);
	cr_expect(!tsdb_verify(f->dir.path, &v, NULL));
	cr_assert(v.problems >= 1);
	cr_expect(tables >= 1);
	/* Storing and sealing go on. */
	put_profile(f, lost, HALF);
	must_maintain(f, true);
	cr_expect(good_profiles(f, !lost, HALF) == HALF);
	teardown(f);
}

/* Without the codec, profiles in columns cannot be read, but none is lost. */
Test(block, columns_cannot_be_read_without_their_codec)
{
	struct fixture *f = setup_columns();

	fill_columns(f);
	f->o.columns = NULL;
	reopen(f);
	cr_expect(good_profiles(f, 0, HALF) == 0);
	must_maintain(f, true);
	f->o.columns = &codec_columns;
	reopen(f);
	cr_expect(good_profiles(f, 0, HALF) == HALF);
	teardown(f);
}

static void count_block(void *ctx, const char *block UNUSED, size_t i,
			size_t count)
{
	size_t *told = ctx;

	cr_assert(i == *told + 1);
	cr_expect(i <= count);
	*told = i;
}

Test(block, recoding_stores_old_blocks_as_columns)
{
	struct fixture *f = setup_columns();
	size_t recoded = 0;
	size_t told = 0;
	uint64_t before;

	f->o.columns = NULL;
	reopen(f);
	fill_columns(f);
	before = stats(f).block_bytes;
	f->o.columns = &codec_columns;
	reopen(f);
	cr_expect(!tsdb_recode(f->db, count_block, &told, &recoded, NULL));
	cr_assert(recoded == 1);
	cr_expect(told == 1);
	cr_expect(stats(f).block_bytes < before * 2 / 3, "%llu of %llu",
		  (unsigned long long)stats(f).block_bytes,
		  (unsigned long long)before);
	for (int s = 0; s < 2; s++)
		cr_expect(good_profiles(f, s, HALF) == HALF);
	/* After a start, there is nothing left to recode. */
	reopen(f);
	cr_assert(!tsdb_recode(f->db, NULL, NULL, &recoded, NULL));
	cr_expect(!recoded);
	for (int s = 0; s < 2; s++)
		cr_expect(good_profiles(f, s, HALF) == HALF);
	teardown(f);
}

/*
 * Compacts blocks with columns. Values files of link_min bytes or more may be
 * linked; smaller ones are copied.
 */
static void compact_columns(int64_t link_min)
{
	struct fixture *f = setup_columns();

	f->o.link_min = link_min;
	clock_set(&f->clock, sample_ms(7 * WINDOW));
	reopen(f);
	for (int window = 0; window < 6; window++) {
		for (int k = window * WINDOW; k < (window + 1) * WINDOW;
		     k += 4) {
			put_profile(f, 0, k);
			put_profile(f, 1, k);
		}
		must_maintain(f, true);
	}
	must_maintain(f, true);
	cr_expect(stats(f).blocks < 6);
	reopen(f);
	cr_expect(good_profiles(f, 0, 6 * WINDOW) == 6 * WINDOW / 4);
	cr_expect(good_profiles(f, 1, 6 * WINDOW) == 6 * WINDOW / 4);
	teardown(f);
}

/* Returns the number of blocks whose meta.json contains both texts. */
static int blocks_with(struct fixture *f, const char *a, const char *b)
{
	char *command = mem_printf("grep -l '%s' %s/01*/meta.json | xargs -r "
				   "grep -l '%s' | wc -l",
				   a, f->dir.path, b);
	FILE *out = popen(command, "r");
	int n = -1;

	cr_assert(out);
	cr_assert(fscanf(out, "%d", &n) == 1);
	pclose(out);
	mem_free(command);
	return n;
}

/*
 * An older everprof must be able to say that a newer one wrote the block, even
 * if only some of its chunks are columns (docs/decisions.md, 96).
 */
Test(block, block_with_some_columns_has_their_format)
{
	struct fixture *f = setup_columns();

	clock_set(&f->clock, sample_ms(7 * WINDOW));
	/* The first block has no columns. */
	for (int window = 0; window < 6; window++) {
		f->o.columns = window ? &codec_columns : NULL;
		reopen(f);
		for (int k = window * WINDOW; k < (window + 1) * WINDOW; k += 8)
			put_profile(f, 0, k);
		must_maintain(f, true);
	}
	must_maintain(f, true);
	/* Windows 0 to 3 are one block now. */
	cr_expect(blocks_with(f, "\"level\": 4", "\"format\": 2") == 1);
	cr_expect(blocks_with(f, "\"level\": 4", "\"columns\": true") == 0);
	teardown(f);
}

Test(block, compaction_copies_tables)
{
	compact_columns(1);       /* links */
	compact_columns(8 * MIB); /* copies */
}

Test(block, too_many_series_seal_a_head_early)
{
	struct fixture *f = setup();

	f->o.max_series = 100;
	f->o.maintain_ms = 3600000;
	reopen(f);
	for (int s = 0; s < 1000; s++) {
		cr_expect(!put(f, s, 0));
		cr_expect(!put(f, s, 1));
		cr_expect(stats(f).head_weight <= 113);
	}
	cr_expect(stats(f).blocks > 0);
	for (int s = 0; s < 1000; s++)
		cr_expect(count_kept(f, s, 0, 2) == 2);
	teardown(f);
}

/* A disk with room for `size` bytes below `root`. */
struct small_disk {
	struct fs fs; /* first, because the hook casts it back */
	const char *root;
	uint64_t size;
};

static _Thread_local uint64_t used_bytes; /* nftw() has no context */

static int add_size(const char *path, const struct stat *st, int type,
		    struct FTW *ftw)
{
	(void)path;
	(void)ftw;
	if (type == FTW_F)
		used_bytes += (uint64_t)st->st_size;
	return 0;
}

static int refuse_when_full(struct fs *fs, const struct fs_call *call)
{
	struct small_disk *d = (struct small_disk *)fs;

	if (call->op != FS_WRITE && call->op != FS_ALLOCATE &&
	    call->op != FS_MKDIR)
		return 0;
	used_bytes = 0;
	nftw(d->root, add_size, 8, FTW_PHYS);
	return used_bytes + call->len + 4096 > d->size ? ENOSPC : 0;
}

static void forget(struct fs *fs, const struct fs_call *call)
{
	(void)fs;
	(void)call;
}

/* Makes the ballast smaller, because it was made for the options of setup(). */
static void shrink_ballast(struct fixture *f)
{
	f->o.wal_segment = MIB / 16;
	reopen(f);
}

Test(block, full_disk_loses_nothing_and_recovers, .timeout = 600)
{
	struct fixture *f = setup();
	struct small_disk disk = { .fs = { .before = refuse_when_full,
					   .after = forget },
				   .root = f->dir.path,
				   .size = MIB };
	int64_t deadline;
	int stored = 0;
	int rc = 0;

	shrink_ballast(f);
	f->o.fs = &disk.fs;
	f->o.wal_budget = MIB / 4;
	f->o.wal_segment = MIB / 16;
	reopen(f);
	cr_expect(stats(f).ballast_bytes == MIB / 16);
	/* How much fits depends on how often the flush thread had its turn. */
	while (!(rc = put(f, 0, stored)) && stored < 20000)
		clock_set(&f->clock, sample_ms(2000 + stored++));
	cr_assert(rc == ERR_NOSPACE, "%d: %d", rc, stored);
	cr_expect(stored > 100, "%d: %d", rc, stored);
	/*
	 * Flushing the oldest segments makes room, as long as a flush finds
	 * room.
	 */
	for (int n = 0; n < 30; n++) {
		if (!tsdb_flush(f->db, NULL) && !put(f, 0, stored))
			stored++;
		(void)!tsdb_maintain(f->db, n % 3 == 0, NULL);
		(void)!delete (f, "{pod=\"pod-9\"}", 0, 10);
	}
	cr_expect(count_kept(f, 0, 0, stored) == stored);
	reopen(f);
	cr_expect(count_kept(f, 0, 0, stored) == stored);
	disk.size = 64 * MIB;
	deadline = clock_mono_ns() + PATIENCE_NS;
	while (put(f, 0, stored) && clock_mono_ns() < deadline)
		usleep(10000); /* until the flush thread looks again */
	must_maintain(f, true);
	cr_expect(stats(f).ballast_bytes == MIB / 16);
	cr_expect(count_kept(f, 0, 0, stored + 1) == stored + 1);
	f->o.fs = NULL;
	teardown(f);
}

Test(block, retention_by_size_frees_a_full_disk, .timeout = 600)
{
	struct fixture *f = setup();
	struct small_disk disk = { .fs = { .before = refuse_when_full,
					   .after = forget },
				   .root = f->dir.path,
				   .size = 2 * MIB };
	int64_t deadline = clock_mono_ns() + 3 * PATIENCE_NS;

	shrink_ballast(f);
	f->o.fs = &disk.fs;
	f->o.wal_budget = MIB / 4;
	f->o.wal_segment = MIB / 16;
	f->o.retention_bytes = MIB;
	reopen(f);
	for (int w = 0; w < 20; w++) {
		int k = w * WINDOW;

		clock_set(&f->clock, sample_ms(k + 200));
		while (k < w * WINDOW + 200 && clock_mono_ns() < deadline) {
			if (!put(f, 0, k))
				k++;
			else if (!usleep(2000)) /* wait after a failure */
				(void)!tsdb_maintain(f->db, true, NULL);
		}
		cr_expect(k == w * WINDOW + 200, "window %d", w);
	}
	cr_expect(count_kept(f, 0, 19 * WINDOW, 19 * WINDOW + 200) == 200);
	f->o.fs = NULL;
	teardown(f);
}

Test(block, running_query_does_not_block_maintenance)
{
	struct fixture *f = setup();
	struct querier *q;
	struct matcher m = { .op = MATCH_EQ,
			     .name = str_of("pod"),
			     .value = str_of("pod-1") };

	put_all(f, 2, 0, 50);
	querier_open(f->db, NULL, &q);
	cr_assert(!querier_select(q, &m, 1, 0, INT64_MAX, NULL));
	must_maintain(f, true);
	cr_expect(is_good(q, 1, 7), "from the range that is gone");
	querier_close(q);
	querier_open(f->db, NULL, &q);
	cr_assert(!querier_select(q, &m, 1, 0, INT64_MAX, NULL));
	cr_expect(!delete (f, "{job=\"test\"}", 0, 10));
	cr_expect(!tsdb_clean_tombstones(f->db, NULL, NULL));
	cr_expect(is_good(q, 1, 17), "from the block that is gone");
	querier_close(q);
	teardown(f);
}

struct crowd {
	struct fixture *f;
	_Atomic bool stop;
	_Atomic int next; /* the first profile that is not stored yet */
	_Atomic int wrong;
};

static void *append_on(void *arg)
{
	struct crowd *c = arg;

	for (int k = 0; k < 1500; k++) {
		for (int s = 0; s < 6; s++)
			c->wrong += put(c->f, s, k) != 0;
		clock_set(&c->f->clock, sample_ms(k + 20));
		atomic_store(&c->next, k + 1);
	}
	atomic_store(&c->stop, true);
	return NULL;
}

/*
 * Checks that series 0 to 4 have all that came, until c->stop is set. Series 5
 * is left out, because some of its profiles are deleted.
 */
static void *look_on(void *arg)
{
	struct crowd *c = arg;
	unsigned x = 1;

	while (!atomic_load(&c->stop)) {
		int next = atomic_load(&c->next);

		x = x * 1103515245 + 12345;
		if (next) {
			int k = (int)(x >> 8) % next;
			int s = (int)(x >> 4) % 5;

			c->wrong += count_kept(c->f, s, k, k + 1) != 1;
		}
	}
	return NULL;
}

static void *change_on(void *arg)
{
	struct crowd *c = arg;

	for (int n = 0; !atomic_load(&c->stop); n++) {
		char *name = mem_printf("s%d", n);

		(void)!tsdb_flush(c->f->db, NULL);
		c->wrong += delete (c->f, "{pod=\"pod-5\"}", 0, n) != 0;
		if (n % 4 == 0)
			c->wrong += tsdb_clean_tombstones(c->f->db, NULL,
							  NULL) != 0;
		if (n % 8 == 0)
			c->wrong += tsdb_snapshot(c->f->db, name, true, NULL,
						  NULL) != 0;
		c->wrong += tsdb_maintain(c->f->db, n % 3 == 0, NULL) != 0;
		mem_free(name);
	}
	return NULL;
}

Test(block, concurrent_appends_queries_deletions_and_maintenance)
{
	struct fixture *f = setup();
	struct crowd c = { .f = f };
	void *(*const runs[])(void *) = { append_on, look_on, look_on,
					  change_on };
	pthread_t threads[ARRAY_SIZE(runs)];

	f->o.maintain_ms = 5;
	f->o.sync_ms = 5;
	f->o.max_series = 5;
	f->o.wal_budget = MIB;
	f->o.wal_segment = MIB / 8;
	reopen(f);
	clock_set(&f->clock, sample_ms(20));
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++)
		cr_assert(!pthread_create(&threads[i], NULL, runs[i], &c));
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++)
		pthread_join(threads[i], NULL);
	cr_expect(c.wrong == 0, "%d wrong", c.wrong);
	cr_expect(all_good(f, 5, 0, 1500));
	f->o.max_series = 0;
	reopen(f);
	cr_expect(all_good(f, 5, 0, 1500));
	teardown(f);
}
