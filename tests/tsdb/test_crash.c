/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Power cuts: a script of appends, syncs, flushes and segment removal runs on
 * a simulated disk, the power goes at a random call, and what was
 * acknowledged must be there, byte for byte, after a start on any of the
 * states that the disk may be in.
 *
 * EVERPROF_CUTS sets how many cuts (50), EVERPROF_SEED the first seed (1).
 */
#include <inttypes.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/powercut.h"
#include "tests/check.h"
#include "tests/tempdir.h"
#include "tests/tsdb/sample.h"
#include "tsdb/querier.h"
#include "tsdb/tsdb.h"

#define SERIES     6
#define PROFILES   200 /* a series */
#define SYNC_EVERY 7
#define LIFETIMES  3 /* cuts in a row on the same data */

TestSuite(crash, .timeout = 3600);

/* What a run has promised. */
struct ledger {
	bool acknowledged[SERIES][PROFILES];
	int next[SERIES];
};

static uint64_t rng;
static long acknowledged;

static unsigned roll(unsigned sides)
{
	rng = rng * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(rng >> 33) % sides;
}

static struct tsdb_options options(const char *path, struct fs *fs,
				   struct metrics *m, const struct clock *clock)
{
	return (struct tsdb_options){ .path = path,
				      .fs = fs,
				      .metrics = m,
				      .clock = clock,
				      .sync_ms = 3600000,
				      .wal_budget = 256 * 1024,
				      .wal_segment = 32 * 1024 };
}

/* Run until the power is gone or everything is in. */
static void run(struct tsdb *db, struct ledger *l, struct powercut *cut)
{
	struct appender *a = tsdb_appender(db);
	bool since[SERIES][PROFILES] = { { false } };
	uint64_t lsn = 0;
	unsigned burst = 0;
	int n = 0;

	while (!powercut_is_dead(cut)) {
		/* Bursts: some flushes of a series are of several groups. */
		int s = (int)(roll(50) ? burst : roll(SERIES));
		int k = l->next[s];

		burst = (unsigned)s;

		if (++n > 2 * SERIES * PROFILES)
			return;
		if (k == PROFILES) {
			burst = roll(SERIES);
			continue;
		}
		struct err err;

		if (sample_append(a, s, k, &lsn, &err)) {
			if (!powercut_is_dead(cut))
				fprintf(stderr, "append: %s\n", err.msg);
			return;
		}
		since[s][k] = true;
		l->next[s]++;
		if (roll(SYNC_EVERY) == 0 && !a->sync(a, lsn, NULL)) {
			for (s = 0; s < SERIES; s++) {
				for (k = 0; k < PROFILES; k++)
					l->acknowledged[s][k] |= since[s][k];
			}
		}
		if (roll(40) == 0 && tsdb_flush(db, NULL))
			return;
	}
}

static int check_profile(struct querier *q, size_t i, int s, int k)
{
	struct profile p = { 0 };
	struct buf want = { 0 };
	struct err err = { 0 };
	int rc = querier_fetch(q, i, sample_ms(k), &p, &err);
	bool same;

	sample_bytes(s, k, &want);
	same = !rc && p.raw.len == want.len &&
	       !memcmp(p.raw.ptr, want.ptr, want.len);
	if (!same)
		fprintf(stderr, "series %d profile %d: %s\n", s, k,
			rc ? err.msg : "other bytes");
	profile_fini(&p);
	buf_fini(&want);
	return same ? 0 : 1;
}

/* Everything acknowledged is there; everything there is as it was appended. */
static int check(struct tsdb *db, struct ledger *l)
{
	struct querier *q;
	int bad = 0;

	for (int s = 0; s < SERIES; s++) {
		struct labels *ls = sample_labels(s);
		struct str pod = labels_get(ls, str_of("pod"));
		struct matcher m = { .op = MATCH_EQ,
				     .name = str_of("pod"),
				     .value = pod };
		bool there[PROFILES] = { false };
		struct times_view t = { 0 };

		querier_open(db, &q);
		querier_select(q, &m, 1, 0, INT64_MAX);
		if (querier_count(q) &&
		    querier_times(q, 0, 0, INT64_MAX, &t, NULL))
			bad++;
		for (size_t i = 0; i < t.count; i++) {
			int64_t k = (t.ms[i] - SAMPLE_START) / SAMPLE_STEP;

			if (k < 0 || k >= PROFILES)
				bad++;
			else
				there[k] = true;
		}
		for (int k = 0; k < PROFILES; k++) {
			if (l->acknowledged[s][k] && !there[k]) {
				fprintf(stderr, "series %d profile %d lost\n",
					s, k);
				bad++;
			}
			if (there[k])
				bad += check_profile(q, 0, s, k);
		}
		querier_close(q);
		labels_unref(ls);
	}
	return bad;
}

/* One life: open, check, run, cut, wake up in the next directory. */
static int live(const char *from, const char *to, struct ledger *l,
		uint64_t seed, const struct clock *clock)
{
	struct powercut *cut = powercut_new(from, seed);
	struct metrics *m = metrics_new();
	struct tsdb_options o;
	struct tsdb *db;
	struct err err;
	int bad = 0;

	CLEANUP(mem_freep) char *path = mem_printf("%s/data", from);
	o = options(path, powercut_fs(cut), m, clock);
	/* One cut in three comes while the database is being opened. */
	if (!roll(3))
		powercut_at(cut, 1 + roll(60));
	if (!tsdb_open(&o, &db, &err)) {
		if (!powercut_is_dead(cut)) {
			powercut_at(cut, 0);
			bad += check(db, l);
			powercut_at(cut, 1 + roll(1500));
		}
		run(db, l, cut);
		tsdb_close(db);
	} else if (!powercut_is_dead(cut)) {
		fprintf(stderr, "open: %s\n", err.msg);
		bad++;
	}
	/* The disk that never lost power is gone too. */
	powercut_at(cut, 1);
	bad += powercut_restore(cut, to, &err) ? 1 : 0;
	powercut_free(cut);
	metrics_free(m);
	return bad;
}

static int final_check(const char *dir, struct ledger *l,
		       const struct clock *clock)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/data", dir);
	struct metrics *m = metrics_new();
	struct tsdb_options o = options(path, NULL, m, clock);
	struct tsdb *db;
	struct err err;
	int bad = 0;

	if (tsdb_open(&o, &db, &err)) {
		fprintf(stderr, "open: %s\n", err.msg);
		bad = 1;
	} else {
		bad = check(db, l);
		tsdb_close(db);
	}
	metrics_free(m);
	return bad;
}

/* A series of lives; the model starts each anew from what survived. */
static int one_story(uint64_t seed)
{
	struct tempdir dir = tempdir_make();
	struct clock clock = { 0 };
	struct ledger l = { 0 };
	int bad = 0;
	char *from = mem_printf("%s/0", dir.path);

	rng = seed;
	clock_set(&clock, sample_ms(PROFILES));
	(void)!mkdir(from, 0700);
	for (int life = 1; life <= LIFETIMES && !bad; life++) {
		char *to = mem_printf("%s/%d", dir.path, life);

		bad = live(from, to, &l, seed * 31 + (uint64_t)life, &clock);
		mem_free(from);
		from = to;
	}
	bad += final_check(from, &l, &clock);
	for (int i = 0; i < SERIES * PROFILES; i++)
		acknowledged += (&l.acknowledged[0][0])[i];
	mem_free(from);
	tempdir_fini(&dir);
	return bad;
}

static long setting(const char *name, long otherwise)
{
	const char *text = getenv(name);

	return text ? strtol(text, NULL, 10) : otherwise;
}

Test(crash, power_cuts_lose_nothing_acknowledged)
{
	long stories = (setting("EVERPROF_CUTS", 51) + 2) / LIFETIMES;
	uint64_t seed = (uint64_t)setting("EVERPROF_SEED", 1);
	long failed = 0;

	for (long i = 0; i < stories; i++, seed++) {
		int bad = one_story(seed);

		if (bad)
			fprintf(stderr, "seed %" PRIu64 ": %d losses\n", seed,
				bad);
		failed += bad != 0;
	}
	printf("%ld power cuts, %ld profiles acknowledged, %ld stories failed\n",
	       stories * LIFETIMES, acknowledged, failed);
	cr_expect(acknowledged > 0);
	cr_expect(failed == 0);
}
