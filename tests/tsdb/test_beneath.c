/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files are removed, cut, overwritten or exchanged beneath a database that is
 * in use. The database goes on, never serves bytes other than those that went
 * in, and tells what it could not read. A start on the files that are left
 * works.
 *
 * EVERPROF_SECONDS sets how long the test runs (without it, 30 rounds),
 * EVERPROF_SEED the first seed.
 */
#include "tests/tsdb/vandal.h"

#include "tsdb/maintain/deletion.h"
#include "tsdb/tools/repair.h"

TestSuite(beneath, .timeout = 7200);

static void use(struct fixture *f, struct vandal *v, int *now)
{
	struct matcher one = { .op = MATCH_EQ,
			       .name = str_of("pod"),
			       .value = str_of("pod-1") };
	int k = (int)vandal_roll(v, 2000);

	switch (vandal_roll(v, 12)) {
	case 0:
		(void)!tsdb_flush(f->db, NULL);
		break;
	case 1:
		(void)!maintain(f, vandal_roll(v, 2));
		break;
	case 2:
		(void)!tsdb_delete(f->db, &one, 1, sample_ms(k),
				   sample_ms(k + 3), NULL, NULL);
		break;
	case 3:
		(void)!tsdb_clean_tombstones(f->db, NULL, NULL);
		break;
	default:
		for (int n = 0; n < 10 && *now < VANDAL_TIMES; n++, ++*now) {
			for (int s = 0; s < VANDAL_SERIES; s++)
				(void)put(f, s, *now);
		}
		break;
	}
}

static void one_life(uint64_t seed)
{
	struct fixture *f = setup();
	struct vandal *v = mem_new(struct vandal);
	struct vandal_look *look = mem_new(struct vandal_look);
	int now = 0;
	struct err err;

	v->rng = seed;
	f->o.wal_segment = 64 * 1024;
	cr_assert(!reopen(f));
	for (int step = 0; step < 60; step++) {
		use(f, v, &now);
		if (step > 10 && !vandal_roll(v, 4))
			(void)vandal_strike(v, f->dir.path);
		if (!vandal_roll(v, 6)) {
			vandal_look_at(f->db, look);
			cr_expect(!look->wrong, "seed %zu, %s", (size_t)seed,
				  v->last);
		}
	}
	tsdb_close(f->db);
	f->db = NULL;
	cr_expect(!tsdb_open(&f->o, &f->db, &err), "seed %zu, %s: %s",
		  (size_t)seed, v->last, err.msg);
	if (f->db) {
		vandal_look_at(f->db, look);
		cr_expect(!look->wrong);
		cr_expect(!put(f, 0, 1999), "seed %zu: it takes profiles again",
			  (size_t)seed);
		(void)!maintain(f, true);
	}
	vandal_forget(v);
	mem_free(v);
	mem_free(look);
	teardown(f);
}

Test(beneath, external_file_changes_do_not_crash_the_database)
{
	int64_t began = clock_mono_ns();
	uint64_t seed = vandal_seed();
	int rounds = 0;

	for (; vandal_goes_on(rounds, 30, began); rounds++)
		one_life(seed + (uint64_t)rounds);
	printf("%d lives\n", rounds);
}
