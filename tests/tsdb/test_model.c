/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random scripts of appends, late appends, duplicates, conflicts, deletions,
 * flushes, seals, compactions, retention and restarts agree with a naive model.
 *
 * EVERPROF_SCRIPTS sets the number of scripts (without it, 50), EVERPROF_SEED
 * the first seed (1), EVERPROF_STEPS the steps of each (2000).
 */
#include "tests/check.h"
#include "tests/tempdir.h"
#include "tests/tsdb/script.h"

TestSuite(model, .timeout = 7200);

static long setting(const char *name, long otherwise)
{
	const char *text = getenv(name);

	return text ? strtol(text, NULL, 10) : otherwise;
}

static int one_script(uint64_t seed, long steps, long *looks)
{
	struct tempdir dir = tempdir_make();
	struct metrics *m = metrics_new();
	struct script *s = mem_new(struct script);
	struct err err;
	int bad;

	script_init(s, dir.path, seed);
	if (seed % 3 == 0)
		s->o.retention_ms = 8ll * 3600 * 1000;
	cr_assert(!script_open(s, m, &err), "%s", err.msg);
	for (long i = 0; i < steps && !s->bad; i++) {
		script_step(s);
		if (script_roll(s, 200) == 0)
			script_check(s);
		if (script_roll(s, 150) == 0) {
			tsdb_close(s->db);
			s->db = NULL;
			cr_assert(!script_open(s, m, &err), "%s", err.msg);
		}
	}
	script_check(s);
	tsdb_close(s->db);
	metrics_free(m);
	tempdir_fini(&dir);
	*looks += s->looks;
	bad = s->bad;
	mem_free(s);
	return bad;
}

Test(model, random_scripts_match_a_reference_model)
{
	long scripts = setting("EVERPROF_SCRIPTS", 50);
	long steps = setting("EVERPROF_STEPS", 2000);
	uint64_t seed = (uint64_t)setting("EVERPROF_SEED", 1);
	long failed = 0;
	long looks = 0;

	for (long i = 0; i < scripts; i++, seed++) {
		int bad = one_script(seed, steps, &looks);

		if (bad)
			fprintf(stderr, "seed %" PRIu64 ": %d differences\n",
				seed, bad);
		failed += bad != 0;
	}
	printf("%ld scripts of %ld steps, %ld looks, %ld failed\n", scripts,
	       steps, looks, failed);
	cr_expect(failed == 0);
}
