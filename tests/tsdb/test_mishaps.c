/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mishaps that once lost something, or brought it back: one call that fails at
 * the wrong moment, one file that is damaged while nobody looks.
 */
#include "tests/tsdb/mishap.h"

#include "tsdb/maintain/deletion.h"
#include "tsdb/maintain/stats.h"
#include "tsdb/tools/repair.h"

TestSuite(mishaps, .timeout = 120);

Test(mishaps, empty_head_and_its_successor_use_different_directories)
{
	static const struct {
		enum fs_op op;
		const char *part;
	} fails[] = { { FS_RENAME, "/ranges/" },
		      { FS_MKDIR, ".tmp-for-creation" } };

	for (size_t i = 0; i < ARRAY_SIZE(fails); i++) {
		struct fixture *f = setup();

		put_series(f, 0, 1900, 1901);
		arm(f, FS_WRITE, "/wal/0", EIO, 1);
		cr_expect(put(f, 0, 10) == ERR_IO, "its range stays empty");
		arm(f, fails[i].op, fails[i].part, EIO, -1);
		cr_expect(maintain(f, true));
		f->hook.times = 0;
		put_series(f, 0, 10, 20);
		cr_expect(!maintain(f, true));
		cr_expect(!tsdb_flush(f->db, NULL));
		cr_expect(count(f) == 11);
		cr_assert(!reopen(f));
		cr_expect(count(f) == 11);
		teardown(f);
	}
}

Test(mishaps, heads_with_damaged_first_record_are_sealed)
{
	struct fixture *f = setup();

	put_series(f, 0, 0, 10);
	put_series(f, 0, 1000, 1010);
	cr_expect(!tsdb_flush(f->db, NULL));
	meddle(f, "for g in ranges/*/groups; do printf '\\377\\377' | "
		  "dd of=$g bs=1 seek=100 conv=notrunc status=none; done");
	cr_assert(!reopen(f));
	cr_expect(count(f) == 20);
	cr_assert(!maintain(f, true));
	cr_expect(count(f) == 20);
	cr_assert(!reopen(f));
	cr_expect(count(f) == 20);
	teardown(f);
}

Test(mishaps, unflushed_head_survives_loss_of_its_log)
{
	struct fixture *f = setup();

	put_series(f, 0, 0, 10);
	meddle(f, "for g in ranges/*/groups; do : >$g; done");
	cr_assert(!reopen(f));
	cr_expect(count(f) == 10);
	cr_assert(!reopen(f));
	cr_expect(count(f) == 10);
	teardown(f);
}

Test(mishaps, transient_open_error_is_not_treated_as_damage)
{
	struct fixture *f = setup();

	for (int w = 0; w < 4; w++)
		put_series(f, 0, w * 480, w * 480 + 5);
	cr_expect(!maintain(f, true));
	arm(f, FS_OPEN, "/values/", EMFILE, 1);
	cr_assert(!reopen(f));
	cr_assert(f->hook.hits == 1);
	cr_expect(count(f) == 15);
	for (int w = 0; w < 4; w++)
		put_series(f, 0, w * 480 + 5, w * 480 + 8);
	cr_expect(!maintain(f, true));
	cr_assert(!reopen(f));
	cr_expect(count(f) == 32);
	cr_assert(!maintain(f, true));
	cr_expect(count(f) == 32);
	teardown(f);
}

Test(mishaps, failed_removals_do_not_block_maintenance)
{
	struct fixture *f = setup();
	struct tsdb_stats s;

	put_series(f, 0, 0, 10);
	arm(f, FS_UNLINK, ".deleting", EIO, -1);
	cr_expect(!maintain(f, true));
	put_series(f, 0, 1000, 1010);
	(void)!maintain(f, true);
	tsdb_stats(f->db, &s);
	cr_assert(s.heads == 0);
	cr_expect(s.blocks == 2);
	cr_assert(!reopen(f));
	cr_expect(count(f) == 20);
	f->hook.times = 0;
	cr_assert(!reopen(f));
	cr_expect(count(f) == 20);
	teardown(f);
}

static const char zero_log[] =
	"g=$(ls -d ranges/* | head -1); head -c 128 /dev/zero | "
	"dd of=$g/groups conv=notrunc status=none";

Test(mishaps, deleted_profiles_of_a_damaged_head_are_not_restored)
{
	struct fixture *f = setup();
	struct matcher all = { .op = MATCH_EQ,
			       .name = str_of("__name__"),
			       .value = str_of("cpu") };

	put_series(f, 0, 0, 10);
	cr_expect(!tsdb_flush(f->db, NULL));
	put_series(f, 1, 1900, 1905);
	put_series(f, 0, 10, 20);
	meddle(f, zero_log);
	cr_assert(!reopen(f), "from the WAL");
	cr_expect(count(f) == 25, "from the WAL");
	clock_set(&f->clock, sample_ms(2000) + 700000);
	cr_expect(!maintain(f, false));
	cr_expect(!tsdb_delete(f->db, &all, 1, 0, INT64_MAX, NULL, NULL));
	cr_expect(!tsdb_clean_tombstones(f->db, NULL, NULL));
	cr_expect(count(f) == 5);
	cr_assert(!reopen(f));
	cr_expect(count(f) == 5);
	teardown(f);
}

Test(mishaps, wal_records_without_a_head_are_appended_again_later)
{
	struct fixture *f = setup();

	put_series(f, 0, 0, 10);
	cr_expect(!tsdb_flush(f->db, NULL));
	put_series(f, 0, 10, 20);
	meddle(f, zero_log);
	arm(f, FS_MKDIR, "/ranges/", ENOSPC, -1);
	cr_assert(!reopen(f));
	cr_expect(count(f) == 0);
	cr_assert(maintain(f, true) == ERR_NOSPACE);
	cr_expect(count(f) == 0);
	f->hook.times = 0;
	cr_assert(!maintain(f, true));
	cr_expect(count(f) == 20);
	cr_assert(!reopen(f));
	cr_expect(count(f) == 20);
	teardown(f);
}

/*
 * Waits until a counter is at least `value`, for a minute at most. Returns
 * whether it is.
 */
static bool reaches(const struct metric *m, int64_t value)
{
	int64_t deadline = clock_mono_ns() + 60000000000LL;

	while (metric_get(m) < value && clock_mono_ns() < deadline)
		usleep(1000);
	return metric_get(m) >= value;
}

/*
 * A round of the flush thread fails twice at most, so that six failures take
 * three rounds, and two pauses of a second lie between them.
 */
Test(mishaps, failed_flush_is_retried_once_a_second)
{
	struct fixture *f = setup();
	struct metric *failed = metrics_counter(
		f->metrics, "everprof_tsdb_flushes_failed_total", "", NULL);
	int64_t from;
	int64_t before;

	f->o.wal_segment = 32768;
	f->o.wal_budget = 256 * 1024;
	f->o.sync_ms = 100;
	reopen(f);
	put_series(f, 0, 0, 1); /* from now on, the head exists */
	arm(f, FS_WRITE, "/values", ENOSPC, -1);
	for (int k = 1; k < 1500 && !put(f, 0, k); k++)
		;
	cr_assert(reaches(failed, 1));
	from = clock_mono_ns();
	before = metric_get(failed);
	cr_assert(reaches(failed, before + 6));
	cr_expect(clock_mono_ns() - from > 1900000000LL);
	f->hook.times = 0;
	teardown(f);
}
