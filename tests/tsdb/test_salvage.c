/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random damage, then a start, then a repair. Neither may lose profiles that
 * could be read before it, except as many as it counts as damage.
 *
 * EVERPROF_SECONDS sets for how many seconds the test runs; by default it runs
 * 40 rounds. EVERPROF_SEED sets the first seed.
 */
#include "tests/tsdb/vandal.h"

#include "tsdb/maintain/deletion.h"
#include "tsdb/maintain/stats.h"
#include "tsdb/tools/repair.h"

TestSuite(salvage, .timeout = 7200);

/*
 * Makes a directory that has profiles in the WAL and, depending on chance,
 * blocks, head blocks and tombstones.
 */
static struct fixture *make(struct vandal *v)
{
	struct matcher one = { .op = MATCH_EQ,
			       .name = str_of("pod"),
			       .value = str_of("pod-1") };
	struct fixture *f = setup();
	int k = 0;

	f->o.wal_segment = 64 * 1024;
	cr_assert(!reopen(f));
	for (int w = 0; w < 4; w++) {
		for (int n = 0; n < 20; n++, k += 1 + vandal_roll(v, 30)) {
			for (int s = 0; s < VANDAL_SERIES; s++)
				(void)put(f, s, k);
		}
		if (vandal_roll(v, 3) == 0)
			(void)!tsdb_flush(f->db, NULL);
		if (vandal_roll(v, 3) == 0)
			(void)!maintain(f, w < 3);
		if (vandal_roll(v, 3) == 0)
			(void)!tsdb_delete(f->db, &one, 1, sample_ms(k - 90),
					   sample_ms(k - 60), NULL, NULL);
	}
	if (vandal_roll(v, 2))
		pull_the_plug(f);
	tsdb_close(f->db);
	f->db = NULL;
	return f;
}

/*
 * Looks at the profiles of a read-only database, as `everprof tsdb dump` does.
 */
static void dump(struct fixture *f, struct vandal_look *l)
{
	struct metrics *m = metrics_new();
	struct tsdb_options o = f->o;
	struct tsdb *db = NULL;

	o.metrics = m;
	o.read_only = true;
	memset(l, 0, sizeof(*l));
	if (!tsdb_open(&o, &db, NULL))
		vandal_look_at(db, l);
	tsdb_close(db);
	metrics_free(m);
}

/*
 * Starts the database once, and repairs it or runs maintenance. *named is the
 * damage that this run counted. Each run has its own metrics, so earlier damage
 * is not counted again.
 */
static int run_once(struct fixture *f, bool repair, uint64_t *named)
{
	struct metrics *m = metrics_new();
	struct tsdb_options o = f->o;
	struct tsdb *db = NULL;
	struct tsdb_repair done = { 0 };
	int rc;

	o.metrics = m;
	rc = tsdb_open(&o, &db, NULL);
	if (!rc && repair)
		(void)!tsdb_repair(db, &done, NULL);
	else if (!rc)
		(void)!tsdb_maintain(db, false, NULL);
	*named = rc ? 0 : tsdb_damage(db);
	tsdb_close(db);
	metrics_free(m);
	return rc;
}

static void one_round(uint64_t seed)
{
	struct vandal *v = mem_new(struct vandal);
	struct vandal_look *before = mem_new(struct vandal_look);
	struct vandal_look *after = mem_new(struct vandal_look);
	struct fixture *f;
	unsigned strikes;

	v->rng = seed;
	f = make(v);
	strikes = 1 + vandal_roll(v, 3);
	for (unsigned n = 0; n < strikes; n++)
		(void)vandal_strike(v, f->dir.path);
	if (vandal_roll(v, 3) == 0) {
		const char *path = vandal_pick(v, f->dir.path);
		uint64_t at = vandal_roll(v, 5) * 4096;

		break_sector(f, path, at, at + 1);
	}
	for (int repair = 0; repair < 2; repair++) {
		uint64_t named = 0;
		size_t missing;
		int rc;

		dump(f, before);
		rc = run_once(f, repair, &named);
		dump(f, after);
		missing = vandal_missing(before, after);
		cr_assert(
			!rc,
			"seed %zu, %s: %d, %zu before, %zu missing after a %s, "
			"%zu named; last: %s",
			(size_t)seed, f->hook.sector ? "a bad sector" : "", rc,
			before->count, missing, repair ? "repair" : "start",
			(size_t)named, v->last);
		cr_assert(
			!before->wrong,
			"seed %zu, %s: %d, %zu before, %zu missing after a %s, "
			"%zu named; last: %s",
			(size_t)seed, f->hook.sector ? "a bad sector" : "", rc,
			before->count, missing, repair ? "repair" : "start",
			(size_t)named, v->last);
		cr_assert(
			!after->wrong,
			"seed %zu, %s: %d, %zu before, %zu missing after a %s, "
			"%zu named; last: %s",
			(size_t)seed, f->hook.sector ? "a bad sector" : "", rc,
			before->count, missing, repair ? "repair" : "start",
			(size_t)named, v->last);
		cr_expect(
			missing <= named,
			"seed %zu, %s: %d, %zu before, %zu missing after a %s, "
			"%zu named; last: %s",
			(size_t)seed, f->hook.sector ? "a bad sector" : "", rc,
			before->count, missing, repair ? "repair" : "start",
			(size_t)named, v->last);
	}
	vandal_forget(v);
	mem_free(v);
	mem_free(before);
	mem_free(after);
	teardown(f);
}

Test(salvage, start_and_repair_lose_no_readable_profile)
{
	int64_t began = clock_mono_ns();
	uint64_t seed = vandal_seed();
	int rounds = 0;

	for (; vandal_goes_on(rounds, 40, began); rounds++)
		one_round(seed + (uint64_t)rounds);
	printf("%d directories\n", rounds);
}
