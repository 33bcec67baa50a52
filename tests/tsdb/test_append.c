/* SPDX-License-Identifier: Apache-2.0 */
/* Appends: which times and series are admitted, duplicates, and limits. */
#include <fcntl.h>

#include "tests/tsdb/mishap.h"
#include "tsdb/maintain/stats.h"

TestSuite(append, .timeout = 60);

#define WINDOW  480 /* profiles of a series in two hours */
#define MINUTE  60000LL
#define HOUR_MS (60 * MINUTE)

/* Append a profile of a series with any time and body. */
static int put_labels(struct fixture *f, struct labels *ls, int64_t ms,
		      const char *body, struct err *err)
{
	struct sample s = { .labels = ls,
			    .ms = ms,
			    .body = bytes_of(str_of(body)),
			    .raw_len = (uint32_t)strlen(body),
			    .typeset = sample_types(0),
			    .totals = (int64_t[]){ 1 } };
	struct appender *a = tsdb_appender(f->db);
	uint64_t lsn = 0;

	s.hash = hash_bytes(s.body);
	return a->append(a, &s, &lsn, err);
}

static int put_at(struct fixture *f, int series, int64_t ms, const char *body,
		  struct err *err)
{
	struct labels *ls = sample_labels(series);
	int rc = put_labels(f, ls, ms, body, err);

	labels_unref(ls);
	return rc;
}

static int64_t counter(struct fixture *f, const char *name)
{
	return metric_get(metrics_counter(f->metrics, name, "", NULL));
}

Test(append, times_are_admitted_between_the_retention_and_ten_minutes_ahead)
{
	static const struct {
		const char *name;
		int64_t retention; /* 0: any age */
		bool ignore;       /* the retention, as imports do */
		int64_t ms; /* after the clock, or after 1970 if absolute */
		bool absolute;
		int want;
	} cases[] = {
		{ "now", 0, false, 0, false, 0 },
		{ "ten minutes ahead", 0, false, 10 * MINUTE, false, 0 },
		{ "a millisecond more", 0, false, 10 * MINUTE + 1, false,
		  ERR_INVALID },
		{ "ahead is no matter of retention", 5 * HOUR_MS, true,
		  10 * MINUTE + 1, false, ERR_INVALID },
		{ "as old as the retention", 5 * HOUR_MS, false, -5 * HOUR_MS,
		  false, 0 },
		{ "a millisecond older", 5 * HOUR_MS, false, -5 * HOUR_MS - 1,
		  false, ERR_INVALID },
		{ "older, for an import", 5 * HOUR_MS, true, -5 * HOUR_MS - 1,
		  false, 0 },
		{ "the first instant", 0, false, 0, true, 0 },
		{ "before 1970", 0, false, -1, true, ERR_INVALID },
		{ "before 1970, for an import", 5 * HOUR_MS, true, -1, true,
		  ERR_INVALID },
		{ "the end of time", 0, false, INT64_MAX, true, ERR_INVALID },
		{ "the begin of time", 0, false, INT64_MIN, true, ERR_INVALID },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture *f = setup();
		struct err err = { .msg = "" };
		int64_t base = cases[i].absolute ? 0 : sample_ms(2000);
		int rc;

		f->o.retention_ms = cases[i].retention;
		f->o.ignore_retention = cases[i].ignore;
		cr_assert(!reopen(f));
		rc = put_at(f, 0, base + cases[i].ms, "x", &err);
		cr_expect(rc == cases[i].want, "%s: %d %s", cases[i].name, rc,
			  err.msg);
		cr_expect(counter(f, "everprof_tsdb_out_of_bound_samples_"
				     "total") == (cases[i].want != 0),
			  "%s", cases[i].name);
		cr_expect(count(f) == (cases[i].want == 0), "%s",
			  cases[i].name);
		teardown(f);
	}
}

Test(append, an_hour_is_as_good_as_the_last_one)
{
	/*
	 * Appends to four windows, twice and in any order. Each goes to the
	 * head of its window.
	 */
	static const int order[] = { 3, 0, 2, 1, 0, 3, 1, 2 };
	struct fixture *f = setup();

	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		cr_expect(!put(f, 0, order[i] * WINDOW + (int)i));
	cr_expect(stats(f).heads == 4);
	cr_assert(stats(f).series == 1);
	cr_expect(stats(f).head_weight == 4);
	cr_expect(stats(f).unflushed == 8);
	cr_expect(count(f) == 8);
	cr_expect(!reopen(f));
	cr_assert(count(f) == 8);
	cr_expect(stats(f).heads == 4);
	teardown(f);
}

Test(append, the_border_of_two_windows_belongs_to_the_later)
{
	struct fixture *f = setup();
	int64_t border = sample_ms(0) / (2 * HOUR_MS) * 2 * HOUR_MS;

	cr_expect(!put_at(f, 0, border - 1, "before", NULL));
	cr_expect(stats(f).heads == 1);
	cr_expect(!put_at(f, 0, border - 2 * HOUR_MS, "first", NULL));
	cr_expect(stats(f).heads == 1);
	cr_expect(!put_at(f, 0, border, "on it", NULL));
	cr_expect(stats(f).heads == 2);
	cr_expect(stats(f).min_ms == border - 2 * HOUR_MS);
	cr_expect(stats(f).max_ms == border + 2 * HOUR_MS);
	teardown(f);
}

Test(append, a_profile_is_stored_once_in_whatever_place_it_is)
{
	static const char duplicates[] =
		"everprof_tsdb_duplicate_samples_total";
	static const char conflicts[] =
		"everprof_tsdb_conflicting_samples_total";
	static const char appended[] =
		"everprof_tsdb_head_samples_appended_total";
	struct fixture *f = setup();
	int64_t ms = sample_ms(7);
	struct err err = { .msg = "" };

	cr_assert(!put_at(f, 0, ms, "one", NULL));
	for (int place = 0; place < 3; place++) {
		if (place == 1)
			cr_assert(!tsdb_flush(f->db, NULL));
		if (place == 2)
			cr_assert(!maintain(f, true));
		cr_expect(!put_at(f, 0, ms, "one", NULL));
		cr_expect(put_at(f, 0, ms, "two", &err) == ERR_EXISTS);
		cr_expect(strstr(err.msg, "2023-11-14T22:15:05.000Z"), "%s",
			  err.msg);
		cr_expect(counter(f, duplicates) == place + 1);
		cr_expect(counter(f, conflicts) == place + 1);
		cr_expect(counter(f, appended) == 1);
	}
	/*
	 * A profile of another series or of another time conflicts with none.
	 */
	cr_expect(!put_at(f, 2, ms, "two", NULL));
	cr_expect(!put_at(f, 0, ms + 1, "two", NULL));
	cr_assert(count(f) == 3);
	cr_expect(counter(f, appended) == 3);
	teardown(f);
}

/* If it were stored, too, answers would still show the first one. */
Test(append, one_failed_read_hides_no_conflict)
{
	struct fixture *f = setup();
	int64_t ms = sample_ms(7);

	cr_assert(!put_at(f, 0, ms, "one", NULL));
	cr_assert(!tsdb_flush(f->db, NULL));
	arm(f, FS_READ, "/groups", EIO, 1);
	cr_expect(put_at(f, 0, ms, "two", NULL) == ERR_EXISTS);
	cr_expect(f->hook.hits == 1);
	teardown(f);
}

Test(append, series_are_admitted_up_to_an_eighth_above_the_limit)
{
	struct fixture *f = setup();
	struct err err = { .msg = "" };

	f->o.max_series = 16;
	cr_assert(!reopen(f));
	cr_expect(stats(f).series_limit == 16);
	/*
	 * The limit and an eighth are 18 series. The one that exceeds them is
	 * the last that is admitted.
	 */
	for (int s = 0; s < 19; s++)
		cr_expect(!put(f, s, 0), "series %d", s);
	cr_expect(put_at(f, 19, sample_ms(0), "x", &err) == ERR_LIMIT);
	cr_expect(strstr(err.msg, "max-series"), "%s", err.msg);
	cr_expect(!put(f, 18, 1), "a series that is there already");
	cr_expect(put(f, 18, WINDOW) == ERR_LIMIT, "in another window");
	cr_expect(stats(f).head_weight == 19);
	/* Series of sealed heads do not count any more. */
	cr_assert(!maintain(f, true));
	cr_expect(stats(f).head_weight == 0);
	cr_expect(!put(f, 19, 0));
	cr_expect(count(f) == 21);
	teardown(f);
}

/* Labels are not counted by --storage.tsdb.max-series, but take its memory. */
Test(append, each_kib_of_labels_counts_as_a_series)
{
	struct fixture *f = setup();
	struct labels_builder b = { 0 };
	struct buf text = { 0 };
	struct labels *ls;
	struct err err = { .msg = "" };

	f->o.max_series = 8;
	cr_assert(!reopen(f));
	for (int i = 0; i < 9 * 1024; i++)
		buf_str(&text, "x");
	labels_set(&b, str_of("long"), str_from(buf_bytes(&text)));
	cr_assert(!labels_build(&b, &ls, NULL));
	cr_assert(!put_labels(f, ls, sample_ms(0), "x", NULL));
	cr_expect(stats(f).head_weight == 10);
	cr_expect(put_at(f, 1, sample_ms(0), "x", &err) == ERR_LIMIT);
	cr_expect(strstr(err.msg, "each KiB"), "%s", err.msg);
	/* When the head is sealed, its labels do not count any more. */
	cr_assert(!maintain(f, true));
	cr_expect(stats(f).head_weight == 0);
	cr_expect(!put(f, 1, 0));
	labels_unref(ls);
	labels_builder_fini(&b);
	buf_fini(&text);
	teardown(f);
}

Test(append, without_a_limit_there_may_be_any_number_of_series)
{
	struct fixture *f = setup();

	for (int s = 0; s < 200; s++)
		cr_expect(!put(f, s, 0));
	cr_assert(stats(f).head_weight == 200);
	cr_expect(!stats(f).series_limit);
	teardown(f);
}

/*
 * Appends while every flush fails, until an append is refused. By then the WAL
 * is a quarter above its budget.
 */
static int fill_wal(struct fixture *f, int *appended)
{
	int rc = 0;

	f->o.wal_budget = 64 * 1024;
	f->o.wal_segment = 16 * 1024;
	cr_assert(!reopen(f));
	cr_assert(!put(f, 0, 0));
	arm(f, FS_WRITE, "/ranges/", EIO, -1);
	for (*appended = 1; *appended < WINDOW && !rc; *appended += !rc)
		rc = put(f, 0, *appended % WINDOW);
	return rc;
}

Test(append, profiles_wait_for_a_flush_and_are_refused_when_it_does_not_help)
{
	struct fixture *f = setup();
	int appended;

	cr_expect(fill_wal(f, &appended) == ERR_LIMIT);
	cr_assert(appended > 20, "%d", appended);
	cr_expect(appended < WINDOW, "%d", appended);
	cr_expect(stats(f).wal_limit == 64 * 1024);
	cr_expect(stats(f).wal_bytes >= 80 * 1024);
	cr_expect(stats(f).wal_bytes < 80 * 1024 + 4096, "%d",
		  (int)stats(f).wal_bytes);
	/*
	 * After a flush that works, nothing that was taken is lost, and there
	 * is room again.
	 */
	f->hook.times = 0;
	cr_expect(!tsdb_flush(f->db, NULL));
	cr_expect(!put(f, 0, appended));
	cr_expect(count(f) == (size_t)appended + 1, "%zu", count(f));
	teardown(f);
}

Test(append, a_process_that_ends_does_not_wait)
{
	struct fixture *f = setup();
	int appended;

	cr_expect(fill_wal(f, &appended) == ERR_LIMIT);
	tsdb_interrupt(f->db);
	cr_expect(put(f, 0, WINDOW - 1) == ERR_CLOSED);
	f->hook.times = 0;
	teardown(f);
}

Test(append, a_profile_that_needs_no_room_is_taken_to_the_last)
{
	struct fixture *f = setup();

	tsdb_interrupt(f->db);
	cr_expect(!put(f, 0, 1));
	cr_expect(!reopen(f));
	cr_expect(count(f) == 1);
	teardown(f);
}

Test(append, a_sync_covers_duplicates_as_well)
{
	struct fixture *f = setup();
	struct appender *a = tsdb_appender(f->db);
	uint64_t first = 0;
	uint64_t again = 0;

	cr_assert(!sample_append(a, 0, 0, &first, NULL));
	cr_assert(!sample_append(a, 0, 0, &again, NULL));
	cr_assert(again >= first);
	cr_expect(first > 0);
	cr_expect(!a->sync(a, again, again, NULL));
	arm(f, FS_SYNC, "/wal/", EIO, -1);
	cr_expect(!a->sync(a, again, again, NULL), "it is durable already");
	cr_expect(!sample_append(a, 0, 1, &again, NULL));
	cr_expect(a->sync(a, again, again, NULL) == ERR_IO);
	f->hook.times = 0;
	teardown(f);
}

Test(append, a_database_may_sync_at_every_append)
{
	struct fixture *f = setup();

	f->o.sync_ms = -1;
	cr_assert(!reopen(f));
	cr_expect(!put(f, 0, 0));
	arm(f, FS_SYNC, "/wal/", EIO, -1);
	cr_expect(put(f, 0, 1) == ERR_IO);
	f->hook.times = 0;
	teardown(f);
}

Test(append, blocks_go_when_they_are_as_old_as_the_retention)
{
	struct fixture *f = setup();
	int64_t end = (sample_ms(0) / (2 * HOUR_MS) + 1) * 2 * HOUR_MS;

	f->o.retention_ms = 6 * HOUR_MS;
	clock_set(&f->clock, sample_ms(0));
	cr_assert(!reopen(f));
	cr_expect(!put(f, 0, 0));
	cr_assert(!maintain(f, true));
	cr_expect(stats(f).blocks == 1);
	clock_set(&f->clock, end + 6 * HOUR_MS - 1);
	cr_assert(!maintain(f, false));
	cr_assert(stats(f).blocks == 1);
	cr_expect(count(f) == 1);
	clock_set(&f->clock, end + 6 * HOUR_MS);
	cr_assert(!maintain(f, false));
	cr_assert(stats(f).blocks == 0);
	cr_expect(count(f) == 0);
	cr_expect(counter(f, "everprof_tsdb_time_retentions_total") == 1);
	teardown(f);
}

Test(append, an_import_removes_nothing_for_its_age)
{
	struct fixture *f = setup();

	f->o.retention_ms = HOUR_MS;
	f->o.ignore_retention = true;
	cr_assert(!reopen(f));
	cr_expect(!put(f, 0, 0));
	cr_assert(!maintain(f, true));
	cr_assert(!maintain(f, true));
	cr_expect(count(f) == 1);
	teardown(f);
}

Test(append, the_oldest_go_first_when_there_is_too_much)
{
	struct fixture *f = setup();
	uint64_t bytes;

	/*
	 * The profiles of each round are a day apart, so that nothing is
	 * compacted.
	 */
	clock_set(&f->clock, sample_ms(40 * WINDOW));
	for (int w = 0; w < 4; w++) {
		int first = w * 12 * WINDOW;

		put_series(f, 0, first, first + 40);
		cr_assert(!maintain(f, true));
	}
	bytes = stats(f).block_bytes + stats(f).ballast_bytes + 4096;
	f->o.retention_bytes = (int64_t)bytes;
	cr_assert(!reopen(f));
	cr_assert(!maintain(f, false));
	cr_expect(count(f) == 160, "as much as is allowed");
	bytes = stats(f).block_bytes + stats(f).ballast_bytes +
		stats(f).wal_bytes;
	f->o.retention_bytes = (int64_t)bytes - 1;
	cr_assert(!reopen(f));
	cr_assert(!maintain(f, false));
	cr_expect(stats(f).retention_bytes == bytes - 1);
	cr_expect(stats(f).min_ms > sample_ms(40), "the first is gone");
	cr_assert(stats(f).blocks == 3, "and no other");
	cr_expect(count(f) == 120, "and no other");
	cr_expect(counter(f, "everprof_tsdb_size_retentions_total") > 0);
	teardown(f);
}

Test(append, directories_are_opened_as_the_options_say)
{
	static const struct {
		const char *name;
		const char *made; /* shell command, run in an empty folder */
		const char *path; /* of the database, below that folder */
		bool must_exist;
		bool read_only;
		int want;
	} cases[] = {
		{ "an empty one is made a database", "true", "", false, false,
		  0 },
		{ "one that is not there", "true", "/none", false, false, 0 },
		{ "one that must be there", "true", "/none", true, false,
		  ERR_NOTFOUND },
		{ "a look at nothing", "true", "/none", false, true,
		  ERR_NOTFOUND },
		{ "an empty one that must be there", "true", "", true, false,
		  ERR_INVALID },
		{ "a look at an empty one", "true", "", false, true,
		  ERR_INVALID },
		{ "somebody's documents", "echo x >letter.txt", "", false,
		  false, ERR_INVALID },
		{ "documents that must be a database", "echo x >letter.txt", "",
		  true, false, ERR_INVALID },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture *f = setup();
		CLEANUP(mem_freep)
		char *path = mem_printf("%s%s", f->dir.path, cases[i].path);
		struct err err = { .msg = "" };
		int rc;

		meddle(f, "rm -rf ./* && true");
		meddle(f, cases[i].made);
		f->o.path = path;
		f->o.must_exist = cases[i].must_exist;
		f->o.read_only = cases[i].read_only;
		rc = tsdb_open(&f->o, &f->db, &err);
		cr_expect(rc == cases[i].want, "%s: %d %s", cases[i].name, rc,
			  err.msg);
		cr_expect(!rc || strstr(err.msg, f->dir.path), "%s: %s",
			  cases[i].name, err.msg);
		if (rc)
			f->db = NULL;
		teardown(f);
	}
}

Test(append, closing_nothing_is_no_mistake)
{
	tsdb_close(NULL);
}
