/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Power cuts and failing calls: scripts of appends, syncs, flushes, seals,
 * compactions, deletions and retention run on a simulated disk. The power goes
 * at a random call, or one call fails. After that the database is opened on one
 * of the states that the disk may be in. All profiles that were acknowledged
 * must be there, byte for byte.
 *
 * EVERPROF_CUTS sets how many cuts there are (51). With EVERPROF_FAULTS, every
 * call fails in a run of its own; without it, only each 7th call fails, or each
 * 31st call if reads fail, too. EVERPROF_SEED is the first seed (1).
 */
#include <errno.h>
#include <sys/stat.h>

#include "tests/check.h"
#include "tests/support/powercut.h"
#include "tests/tempdir.h"
#include "tests/tsdb/script.h"
#include "tsdb/tools/repair.h"

#define LIFETIMES 3 /* cuts in a row on the same data */

TestSuite(crash, .timeout = 7200);

static long acknowledged;

static long setting(const char *name, long otherwise)
{
	const char *text = getenv(name);

	return text ? strtol(text, NULL, 10) : otherwise;
}

/* How many profiles a start has counted as missing. */
static int64_t crash_missing(struct metrics *m)
{
	return metric_get(metrics_counter(
		m, "everprof_tsdb_wal_profiles_missing_total", "", NULL));
}

/*
 * Open a database. Its start may take for missing what was not durable, and may be
 * torn out of the middle of a segment, one profile that was on its way, and what
 * a start before has counted.
 */
static int crash_open(struct script *s, struct metrics *m, struct err *err)
{
	int rc = script_open(s, m, err);
	int64_t missing = crash_missing(m);

	if (rc)
		return rc;
	if (missing > s->appended + 1 + s->missed) {
		fprintf(stderr, "%d profiles count as missing\n", (int)missing);
		s->bad++;
	}
	if (missing > s->missed)
		s->missed = missing;
	return 0;
}

/*
 * Runs a database in `from` until the power is cut: opens it, checks it, and
 * runs random steps. Then writes into `to` what the disk has after the cut.
 */
static void live(struct script *s, const char *from, const char *to,
		 uint64_t seed)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/data", from);
	struct powercut *cut = powercut_new(from, seed);
	struct metrics *m = metrics_new();
	struct err err;

	s->o.path = path;
	s->o.fs = powercut_fs(cut);
	/* One cut in three comes while the database is being opened. */
	if (!script_roll(s, 3))
		powercut_at(cut, 1 + script_roll(s, 60));
	if (!crash_open(s, m, &err)) {
		if (!powercut_is_dead(cut)) {
			powercut_at(cut, 0);
			script_check(s);
			powercut_at(cut, 1 + script_roll(s, 2500));
		}
		for (int n = 0; n < 4000 && !powercut_is_dead(cut); n++)
			script_step(s);
		tsdb_close(s->db);
		s->db = NULL;
	} else if (!powercut_is_dead(cut)) {
		fprintf(stderr, "open: %s\n", err.msg);
		s->bad++;
	}
	/* If the power has not been cut, cut it now. */
	powercut_at(cut, 1);
	if (powercut_restore(cut, to, &err)) {
		fprintf(stderr, "restore: %s\n", err.msg);
		s->bad++;
	}
	powercut_free(cut);
	metrics_free(m);
}

static void final_look(struct script *s, const char *dir)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/data", dir);
	struct metrics *m = metrics_new();
	struct err err;

	s->o.path = path;
	s->o.fs = NULL;
	if (crash_open(s, m, &err)) {
		fprintf(stderr, "open: %s\n", err.msg);
		s->bad++;
	} else {
		script_check(s);
		tsdb_close(s->db);
		s->db = NULL;
	}
	metrics_free(m);
}

/*
 * Runs several lives. Each starts from what survived the cut of the one before.
 */
static int one_story(uint64_t seed)
{
	struct tempdir dir = tempdir_make();
	struct script *s = mem_new(struct script);
	char *from = mem_printf("%s/0", dir.path);
	int bad;

	script_init(s, "", seed);
	s->faults = true;
	if (seed % 3 == 0)
		s->o.retention_ms = 8ll * 3600 * 1000;
	(void)!mkdir(from, 0700);
	for (int life = 1; life <= LIFETIMES && !s->bad; life++) {
		char *to = mem_printf("%s/%d", dir.path, life);

		live(s, from, to, seed * 31 + (uint64_t)life);
		mem_free(from);
		from = to;
	}
	final_look(s, from);
	mem_free(from);
	tempdir_fini(&dir);
	acknowledged += s->acknowledged;
	bad = s->bad;
	mem_free(s);
	return bad;
}

Test(crash, power_cut_loses_no_acknowledged_profile)
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

/* A script that appends, flushes, seals, compacts, deletes and retains. */
static void whole_life(struct script *s)
{
	for (int w = 0; w < 3; w++) {
		s->now = w * 48 + 20;
		clock_set(&s->clock, script_ms(s->now));
		for (int n = 0; n < 12; n++)
			script_append(s);
		(void)!tsdb_flush(s->db, NULL);
		for (int n = 0; n < 4; n++)
			script_append(s);
		(void)!tsdb_maintain(s->db, true, NULL);
		if (w == 1)
			script_delete(s);
	}
	s->now = 40; /* late profiles: their blocks overlap */
	for (int n = 0; n < 8; n++)
		script_append(s);
	(void)!tsdb_maintain(s->db, true, NULL);
	(void)!tsdb_clean_tombstones(s->db, NULL, NULL);
	s->now = 330; /* beyond the retention */
	clock_set(&s->clock, script_ms(s->now));
	for (int n = 0; n < 4; n++)
		script_append(s);
	(void)!tsdb_maintain(s->db, false, NULL);
}

/*
 * Runs a script in which the n-th call fails with errno `number`. Returns
 * whether the script made so many calls.
 */
static bool one_fault(uint64_t n, int number, bool reads, int *bad)
{
	struct tempdir dir = tempdir_make();
	struct script *s = mem_new(struct script);
	CLEANUP(mem_freep) char *path = mem_printf("%s/data", dir.path);
	struct powercut *cut = powercut_new(dir.path, n);
	struct metrics *m = metrics_new();
	bool reached;

	script_init(s, path, 7);
	s->faults = true;
	s->o.retention_ms = 4ll * 86400 * 1000 / 10;
	s->o.fs = powercut_fs(cut);
	if (reads)
		powercut_count_reads(cut);
	powercut_fail_at(cut, n, number);
	if (!crash_open(s, m, NULL)) {
		whole_life(s);
		if (!powercut_is_armed(cut)) /* no fault hits the check */
			script_check(s);
		tsdb_close(s->db);
		s->db = NULL;
	}
	reached = !powercut_is_armed(cut);
	powercut_fail_at(cut, 0, 0);
	final_look(s, dir.path);
	powercut_free(cut);
	metrics_free(m);
	tempdir_fini(&dir);
	if (s->bad)
		fprintf(stderr, "call %" PRIu64 " failed with errno %d\n", n,
			number);
	*bad += s->bad;
	mem_free(s);
	return reached;
}

Test(crash, failed_system_call_loses_no_acknowledged_profile)
{
	bool all = getenv("EVERPROF_FAULTS") != NULL;
	uint64_t step = all ? 1 : 7;
	uint64_t n = 1;
	int bad = 0;

	while (one_fault(n, n % 2 ? EIO : ENOSPC, false, &bad)) {
		if (all)
			one_fault(n, n % 2 ? ENOSPC : EIO, false, &bad);
		n += step;
	}
	printf("faults at %" PRIu64 " calls of up to %" PRIu64 ", %d losses\n",
	       n / step, n, bad);
	cr_expect(bad == 0);
	cr_expect(n > 100);
}

/*
 * Here reads fail, too, also those of mapped pages. Every 31st call fails in
 * one run, or with EVERPROF_FAULTS every call.
 */
Test(crash, failed_read_loses_no_acknowledged_profile)
{
	uint64_t step = getenv("EVERPROF_FAULTS") ? 1 : 31;
	uint64_t n = 1;
	int bad = 0;

	while (one_fault(n, EIO, true, &bad))
		n += step;
	printf("faults at %" PRIu64 " calls and reads of up to %" PRIu64
	       ", %d losses\n",
	       n / step, n, bad);
	cr_expect(bad == 0);
	cr_expect(n > 400);
}
