/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Days of scraping in simulated time, with retention by time and by size. Disk
 * and memory stay flat, blocks are laid out as planned, and everything inside
 * the retention is there, byte for byte.
 *
 * EVERPROF_DAYS sets the number of days (without it, 3), EVERPROF_SERIES the
 * number of series (without it, 4).
 */
#include <ftw.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file_slurp.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/tempdir.h"
#include "tests/tsdb/sample.h"
#include "tsdb/maintain/stats.h"
#include "tsdb/open/tsdb.h"
#include "tsdb/query/querier.h"

TestSuite(weeks, .timeout = 14400);

#define HOUR_MS     3600000LL
#define DAY_MS      (24 * HOUR_MS)
#define INTERVAL_MS 15000LL
#define START_MS    (1700000000000LL / DAY_MS * DAY_MS)
#define BODY_LEN    3000

struct weeks {
	int series;
	int days;
	struct tempdir dir;
	struct clock clock;
	struct metrics *metrics;
	struct tsdb_options o;
	struct tsdb *db;
	uint64_t peak_disk;  /* after the retention was first reached */
	uint64_t first_disk; /* when the retention was first reached */
	int64_t peak_kb;
	int64_t first_kb;
};

static long setting(const char *name, long otherwise)
{
	const char *text = getenv(name);

	return text ? strtol(text, NULL, 10) : otherwise;
}

static int64_t anon_kb(void)
{
	struct buf text = buf_init(64 * KIB);
	const char *at = NULL;
	int64_t kb = 0;

	if (!file_slurp("/proc/self/status", &text, NULL))
		at = strstr(buf_cstr(&text), "RssAnon:");
	if (at)
		kb = strtoll(at + 8, NULL, 10);
	buf_fini(&text);
	return kb;
}

/*
 * Makes the body of a profile. Three quarters of its bytes are alike in all
 * profiles, the rest are its own.
 */
static void body_of(int series, int64_t n, struct buf *out)
{
	uint64_t x = (uint64_t)(n * 1000 + series) * 0x9e3779b97f4a7c15u + 1;

	buf_reset(out);
	buf_printf(out, "series %d profile %" PRId64 " ", series, n);
	while (out->len < BODY_LEN) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		buf_byte(out,
			 out->len % 4 ? (uint8_t)(out->len * 7) : (uint8_t)x);
	}
}

static void append_round(struct weeks *w, int64_t n)
{
	struct appender *a = tsdb_appender(w->db);
	struct buf body = { 0 };

	for (int i = 0; i < w->series; i++) {
		struct labels *ls = sample_labels(i);
		int64_t totals[2] = { n, i };
		struct sample s = { .labels = ls,
				    .ms = START_MS + n * INTERVAL_MS,
				    .typeset = sample_types(i),
				    .totals = totals };
		uint64_t lsn;

		body_of(i, n, &body);
		s.body = buf_bytes(&body);
		s.raw_len = (uint32_t)body.len;
		s.hash = hash_bytes(s.body);
		cr_assert(!a->append(a, &s, &lsn, NULL));
		labels_unref(ls);
	}
	buf_fini(&body);
}

static uint64_t disk_bytes;

static int add_bytes(const char *path, const struct stat *st, int type,
		     struct FTW *ftw)
{
	(void)path;
	(void)ftw;
	/*
	 * Each name of a linked file adds its share, so that the file counts
	 * once.
	 */
	if (type == FTW_F)
		disk_bytes += (uint64_t)st->st_size / st->st_nlink;
	return 0;
}

static void look(struct weeks *w, bool warm)
{
	int64_t kb = anon_kb();

	disk_bytes = 0;
	nftw(w->dir.path, add_bytes, 16, FTW_PHYS);
	if (warm && !w->first_disk) {
		w->first_disk = disk_bytes;
		w->first_kb = kb;
	}
	if (warm && disk_bytes > w->peak_disk)
		w->peak_disk = disk_bytes;
	if (warm && kb > w->peak_kb)
		w->peak_kb = kb;
}

static bool is_good(struct querier *q, size_t i, int series, int64_t n)
{
	struct profile p = { 0 };
	struct buf want = { 0 };
	bool good;

	body_of(series, n, &want);
	good = !querier_fetch(q, i, START_MS + n * INTERVAL_MS, &p, NULL) &&
	       bytes_eq(buf_bytes(&p.raw), buf_bytes(&want));
	profile_fini(&p);
	buf_fini(&want);
	return good;
}

/*
 * Checks that all profiles [from, to) of a series are listed. Every 13th is
 * fetched, and must have the right bytes.
 */
static void check_series(struct weeks *w, int series, int64_t from, int64_t to)
{
	struct labels *ls = sample_labels(series);
	struct matcher m = { .op = MATCH_EQ,
			     .name = str_of("pod"),
			     .value = labels_get(ls, str_of("pod")) };
	struct times_view t = { 0 };
	struct querier *q;

	querier_open(w->db, NULL, &q);
	cr_assert(!querier_select(q, &m, 1, INT64_MIN, INT64_MAX, NULL));
	cr_assert(querier_count(q) == 1);
	cr_expect(!querier_times(q, 0, START_MS + from * INTERVAL_MS,
				 START_MS + to * INTERVAL_MS - 1, &t, NULL));
	cr_expect((int64_t)t.count == to - from, "%zu of %" PRId64, t.count,
		  to - from);
	for (int64_t n = from; n < to; n += 13)
		cr_expect(is_good(q, 0, series, n), "series %d, %" PRId64,
			  series, n);
	querier_close(q);
	labels_unref(ls);
}

static void run(struct weeks *w, int64_t warm_ms)
{
	int64_t rounds = w->days * DAY_MS / INTERVAL_MS;
	struct err err = { .msg = "" };

	w->o.path = w->dir.path;
	w->o.clock = &w->clock;
	w->o.metrics = w->metrics;
	w->o.maintain_ms = -1;
	w->o.sync_ms = 100;
	clock_set(&w->clock, START_MS);
	cr_assert(!tsdb_open(&w->o, &w->db, &err), "%s", err.msg);
	for (int64_t n = 0; n < rounds; n++) {
		clock_set(&w->clock, START_MS + n * INTERVAL_MS);
		append_round(w, n);
		if (n % 40 == 0)
			cr_expect(!tsdb_maintain(w->db, false, &err), "%s",
				  err.msg);
		if (n % 240 == 0)
			look(w, n * INTERVAL_MS >= warm_ms);
	}
}

static struct weeks *begin(void)
{
	struct weeks *w = mem_new(struct weeks);

	w->series = (int)setting("EVERPROF_SERIES", 4);
	w->days = (int)setting("EVERPROF_DAYS", 3);
	w->dir = tempdir_make();
	w->metrics = metrics_new();
	w->o.clock_steady_ms = -1;
	return w;
}

static void finish(struct weeks *w, const char *what)
{
	struct tsdb_stats s;

	tsdb_stats(w->db, &s);
	printf("%s: %d days of %d series: disk %.1f MB when full, %.1f at its peak; RssAnon %.1f and %.1f MB; %" PRIu64
	       " blocks, %" PRIu64 " ranges\n",
	       what, w->days, w->series, (double)w->first_disk / 1e6,
	       (double)w->peak_disk / 1e6, (double)w->first_kb / 1024,
	       (double)w->peak_kb / 1024, s.blocks, s.heads);
	tsdb_close(w->db);
	metrics_free(w->metrics);
	tempdir_fini(&w->dir);
	mem_free(w);
}

Test(weeks, retention_by_time)
{
	struct weeks *w = begin();
	int64_t rounds = w->days * DAY_MS / INTERVAL_MS;
	int64_t kept;
	struct tsdb_stats s;

	/* The retention is 5 of 14 days, or the same share of fewer days. */
	w->o.retention_ms = w->days * DAY_MS * 5 / 14;
	w->o.wal_budget = 32 * MIB;
	run(w, w->o.retention_ms + 12 * HOUR_MS);
	kept = w->o.retention_ms / INTERVAL_MS;
	for (int i = 0; i < w->series; i++)
		check_series(w, i, rounds - kept, rounds);
	tsdb_stats(w->db, &s);
	/*
	 * There are blocks of up to a tenth of the retention, and some of two
	 * hours.
	 */
	cr_expect(s.blocks <= 10 * 3 + 9, "%d blocks", (int)s.blocks);
	cr_expect(s.heads <= 2);
	cr_expect(w->peak_disk < w->first_disk * 5 / 4 + 40 * MIB);
	cr_expect(w->peak_kb < w->first_kb * 3 / 2 + 8 * 1024);
	/*
	 * Older profiles are gone, except those in the block in which the
	 * retention begins.
	 */
	cr_expect(s.min_ms >= START_MS + (rounds - kept) * INTERVAL_MS -
				      w->o.retention_ms / 10 - 4 * HOUR_MS);
	finish(w, "by time");
}

Test(weeks, retention_by_size)
{
	struct weeks *w = begin();
	int64_t rounds = w->days * DAY_MS / INTERVAL_MS;
	struct tsdb_stats s;
	int64_t first;

	/*
	 * 300 MB hold only a part of a week of 50 series, but more than one
	 * window of them. Fewer series have a tenth of that space.
	 */
	w->o.retention_bytes = w->series < 50 ? 30ll * 1000000 :
						300ll * 1000000;
	w->o.retention_ms = 90 * DAY_MS;
	w->o.wal_budget = w->o.retention_bytes / 8;
	w->o.wal_segment = w->o.wal_budget / 8;
	run(w, w->days * DAY_MS / 2);
	tsdb_stats(w->db, &s);
	cr_expect(w->peak_disk <
		  (uint64_t)w->o.retention_bytes * 5 / 4 + 2 * MIB);
	cr_expect(w->peak_kb < w->first_kb * 3 / 2 + 8 * 1024);
	first = (s.min_ms - START_MS + INTERVAL_MS - 1) / INTERVAL_MS;
	cr_expect(first > 0, "the oldest went");
	cr_expect(rounds - first > rounds / 40);
	cr_expect(w->peak_disk > (uint64_t)w->o.retention_bytes * 3 / 5,
		  "most of the space is used");
	for (int i = 0; i < w->series; i++)
		check_series(w, i, first, rounds);
	finish(w, "by size");
}
