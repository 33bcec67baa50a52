/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A disk that does not answer reads for a while, at each step of the life of a
 * profile: nothing is lost, and what stays unreadable is kept until it can be
 * read.
 */
#include "tests/tsdb/mishap.h"
#include "tsdb/maintain/deletion.h"
#include "tsdb/maintain/snapshot.h"

#define WINDOW_STEPS 480 /* samples of 15 s in a window of two hours */

TestSuite(outages, .timeout = 120);

/* A database that waits for its disk, with 40 profiles in the WAL. */
static struct fixture *patient(void)
{
	struct fixture *f = setup_closed();

	f->o.outage_ms = 0; /* the default: some minutes */
	reopen(f);
	put_series(f, 0, 0, 20);
	put_series(f, 1, 0, 20);
	return f;
}

static long entries(struct fixture *f, const char *command)
{
	CLEANUP(mem_freep)
	char *all = mem_printf("cd %s && %s", f->dir.path, command);
	FILE *p = popen(all, "r");
	long n = -1;

	cr_assert(p, "%s", command);
	cr_assert(fscanf(p, "%ld", &n) == 1, "%s", command);
	pclose(p);
	return n;
}

Test(outages, flush_waits_for_the_wal)
{
	struct fixture *f = patient();
	struct err err = { .msg = "" };

	arm(f, FS_READ, "/wal/0", EIO, -1);
	cr_expect(tsdb_flush(f->db, &err) == ERR_AGAIN, "%s", err.msg);
	cr_expect(strstr(err.msg, "Input/output") != NULL, "%s", err.msg);
	f->hook.times = 0;
	cr_expect(count(f) == 40, "nothing was forgotten");
	cr_assert(!tsdb_flush(f->db, NULL));
	cr_expect(count(f) == 40);
	cr_assert(!reopen(f));
	cr_expect(count(f) == 40);
	cr_expect(entries(f, "ls wal | grep -c unread || true") == 0);
	teardown(f);
}

Test(outages, a_bad_sector_puts_off_only_the_series_that_has_it)
{
	struct fixture *f = patient();

	break_sector(f, "/wal/0", 8192, 8193);
	cr_expect(tsdb_flush(f->db, NULL) == ERR_AGAIN);
	cr_expect(stats(f).unflushed == 20, "%zu", (size_t)stats(f).unflushed);
	f->hook.sector = NULL;
	cr_assert(!tsdb_flush(f->db, NULL));
	cr_expect(!stats(f).unflushed);
	cr_expect(count(f) == 40);
	teardown(f);
}

Test(outages, a_stop_during_an_outage_keeps_the_wal)
{
	struct fixture *f = patient();

	arm(f, FS_READ, "/wal/0", EIO, -1);
	tsdb_close(f->db);
	f->db = NULL;
	f->hook.times = 0;
	cr_assert(!reopen(f));
	cr_expect(count(f) == 40);
	teardown(f);
}

Test(outages, sealing_waits_for_the_head_block)
{
	struct fixture *f = patient();

	cr_assert(!tsdb_flush(f->db, NULL));
	arm(f, FS_READ, "/values", EIO, -1);
	cr_expect(maintain(f, true) < 0);
	f->hook.times = 0;
	cr_assert(count(f) == 40);
	cr_expect(stats(f).blocks == 0);
	cr_assert(!reopen(f));
	cr_expect(!maintain(f, true));
	cr_assert(count(f) == 40);
	cr_expect(stats(f).blocks == 1);
	cr_expect(entries(f, "ls . ranges | grep -c unread || true") == 0);
	teardown(f);
}

Test(outages, a_snapshot_during_an_outage_fails)
{
	struct fixture *f = patient();
	static const char *const files[] = { "/wal/0", "/values" };

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct err err = { .msg = "" };

		arm(f, FS_READ, files[i], EIO, -1);
		cr_expect(tsdb_snapshot(f->db, "copy", true, NULL, &err) < 0,
			  "%s", files[i]);
		f->hook.times = 0;
		cr_assert(!tsdb_flush(f->db, NULL));
	}
	cr_expect(!tsdb_snapshot(f->db, "copy", true, NULL, NULL));
	cr_expect(count(f) == 40);
	teardown(f);
}

Test(outages, what_stays_unreadable_in_the_wal_comes_back_when_it_is_read)
{
	struct fixture *f = patient();
	size_t left;

	f->o.outage_ms = -1;
	cr_assert(!reopen(f));
	break_sector(f, "/wal/0", 8192, 8193);
	cr_expect(!tsdb_flush(f->db, NULL));
	cr_expect(!maintain(f, true), "what cannot be read is no failure");
	left = count(f);
	cr_assert(left < 40, "%zu", left);
	cr_expect(left >= 24, "%zu", left);
	cr_expect(entries(f, "ls wal | grep -c unread || true") == 1);
	cr_assert(!maintain(f, true), "still unreadable");
	cr_expect(count(f) == left, "still unreadable");
	f->hook.sector = NULL;
	cr_expect(!maintain(f, true));
	cr_expect(count(f) == 40, "%zu", count(f));
	cr_expect(entries(f, "ls wal | grep -c unread || true") == 0);
	cr_assert(!reopen(f));
	cr_expect(count(f) == 40);
	teardown(f);
}

Test(outages, a_crash_does_not_forget_what_a_flush_has_passed)
{
	struct fixture *f = patient();

	f->o.outage_ms = -1;
	f->o.wal_segment = 20000;
	cr_assert(!reopen(f));
	put_series(f, 0, 20, 40);
	break_sector(f, "/wal/0", 8192, 8193);
	cr_expect(!tsdb_flush(f->db, NULL));
	cr_expect(count(f) < 60);
	pull_the_plug(f);
	f->hook.sector = NULL;
	cr_assert(!reopen(f));
	/* The segments that were flushed are removed. */
	put_series(f, 1, 20, 80);
	cr_assert(!tsdb_flush(f->db, NULL));
	cr_expect(!maintain(f, true));
	cr_expect(count(f) == 120, "%zu", count(f));
	cr_expect(entries(f, "ls wal | grep -c unread || true") == 0);
	teardown(f);
}

Test(outages, nothing_is_flushed_past_what_cannot_be_marked)
{
	struct fixture *f = patient();

	f->o.outage_ms = -1;
	cr_assert(!reopen(f));
	break_sector(f, "/wal/0", 8192, 8193);
	arm(f, FS_LINK, "/wal/0", EIO, -1);
	cr_expect(tsdb_flush(f->db, NULL) < 0);
	cr_assert(stats(f).unflushed >= 20);
	cr_expect(f->hook.hits > 0);
	cr_assert(maintain(f, true) < 0);
	cr_expect(!stats(f).blocks);
	pull_the_plug(f);
	f->hook.sector = NULL;
	f->hook.times = 0;
	cr_assert(!reopen(f));
	cr_expect(count(f) == 40);
	teardown(f);
}

/* Read the log to its end, and return the number of samples. */
static long read_log(struct fixture *f, uint64_t *position)
{
	struct sample_log *l = tsdb_sample_log(f->db);
	struct logged_sample s;
	struct buf buf = { 0 };
	long n = 0;
	int rc;

	while ((rc = l->read(l, position, true, &buf, &s, NULL)) != ERR_AGAIN) {
		n += !rc;
		if (rc == ERR_IO)
			cr_assert(!l->skip(l, position, NULL));
	}
	buf_fini(&buf);
	return n;
}

Test(outages, what_remote_write_has_passed_over_is_sent_when_it_is_read)
{
	struct fixture *f = setup_closed();
	uint64_t position = 0;
	long before;

	f->o.hold_wal = true;
	f->o.sync_ms = -1; /* remote write reads what is durable */
	reopen(f);
	put_series(f, 0, 0, 40);
	break_sector(f, "/wal/0", 8192, 8193);
	before = read_log(f, &position);
	cr_assert(before < 40, "%ld", before);
	cr_expect(before >= 24, "%ld", before);
	/* A stop; and all of it is stored, so nothing is missing here. */
	f->hook.sector = NULL;
	cr_assert(!tsdb_flush(f->db, NULL));
	cr_expect(count(f) == 40);
	pull_the_plug(f);
	cr_assert(!reopen(f));
	break_sector(f, "/wal/00000001", 8192, 8193);
	cr_expect(!maintain(f, true));
	cr_expect(read_log(f, &position) == 0, "not each time that it fails");
	f->hook.sector = NULL;
	cr_expect(!maintain(f, true));
	cr_expect(entries(f, "ls wal | grep -c unread || true") == 0);
	cr_expect(read_log(f, &position) == 40);
	cr_assert(!reopen(f), "%zu", count(f));
	cr_expect(count(f) == 40, "%zu", count(f));
	teardown(f);
}

Test(outages, what_stays_unreadable_in_a_head_block_comes_back)
{
	struct fixture *f = patient();
	size_t left;

	f->o.outage_ms = -1;
	cr_assert(!reopen(f));
	cr_assert(!tsdb_flush(f->db, NULL));
	/* The log of the head block, `groups`, is shorter than `values`. */
	break_sector(f, ".0000000100000040", 8192, 8193);
	cr_expect(!maintain(f, true));
	left = count(f);
	cr_expect(left == 20, "%zu", left);
	cr_expect(entries(f, "ls ranges | grep -c unread || true") == 1);
	cr_assert(!reopen(f));
	cr_expect(count(f) == left);
	f->hook.sector = NULL;
	cr_expect(!maintain(f, true));
	cr_expect(count(f) == 40, "%zu", count(f));
	cr_assert(!maintain(f, true));
	cr_assert(!reopen(f));
	cr_expect(count(f) == 40);
	cr_expect(entries(f, "ls ranges | grep -c unread || true") == 0);
	teardown(f);
}

Test(outages, what_is_damaged_when_the_disk_reads_it_again_is_set_aside_once)
{
	struct fixture *f = patient();

	f->o.outage_ms = -1;
	cr_assert(!reopen(f));
	cr_assert(!tsdb_flush(f->db, NULL));
	break_sector(f, ".0000000100000040", 8192, 8193);
	cr_expect(!maintain(f, true));
	cr_expect(entries(f, "ls ranges | grep -c 'unread$' || true") == 1);
	f->hook.sector = NULL;
	cr_assert(entries(f, "for d in ranges/*.unread; do head -c 4096 "
			     "/dev/zero | dd of=$d/groups conv=notrunc; done "
			     "2>/dev/null; echo 1") == 1);
	cr_expect(!maintain(f, true));
	cr_expect(entries(f, "ls ranges | grep -c 'unread$' || true") == 0);
	cr_expect(entries(f, "ls ranges | grep -c 'damaged' || true") == 1);
	cr_expect(!maintain(f, true));
	teardown(f);
}

Test(outages, a_failed_write_of_the_log_is_undone_later)
{
	struct fixture *f = patient();

	arm(f, FS_WRITE, "/groups", EIO, 1);
	cr_expect(tsdb_flush(f->db, NULL) == ERR_IO);
	arm(f, FS_TRUNCATE, "/groups", EIO, 1);
	cr_expect(!tsdb_flush(f->db, NULL), "the truncation was not needed");
	put_series(f, 0, 20, 30);
	/* The write fails, and so does the truncation after it. */
	arm(f, FS_SYNC, "/groups", EIO, 1);
	cr_expect(tsdb_flush(f->db, NULL) == ERR_IO);
	cr_expect(!tsdb_flush(f->db, NULL));
	cr_assert(count(f) == 50);
	cr_assert(!reopen(f));
	cr_expect(count(f) == 50);
	teardown(f);
}

/* Delete profiles [from, to) of all series. */
static int delete_range(struct fixture *f, int from, int to, struct err *err)
{
	return tsdb_delete(f->db, NULL, 0, sample_ms(from), sample_ms(to) - 1,
			   NULL, err);
}

/* A file of deletions that is not read must not be replaced, nor forgotten. */
Test(outages, deletions_that_cannot_be_read_are_not_forgotten)
{
	for (int block = 0; block < 2; block++) {
		struct fixture *f = patient();
		struct err err = { .msg = "" };

		cr_assert(block ? !maintain(f, true) :
				  !tsdb_flush(f->db, NULL));
		cr_assert(!delete_range(f, 0, 10, NULL));
		cr_assert(count(f) == 20);
		arm(f, FS_READ, "/tombstones", EIO, -1);
		cr_assert(!reopen(f));
		cr_expect(count(f) == 40, "they are visible meanwhile");
		cr_expect(delete_range(f, 10, 15, &err) == ERR_IO);
		cr_expect(
			strstr(err.msg,
			       "the disk cannot read its earlier deletions") !=
				NULL,
			"%s", err.msg);
		if (!block)
			cr_expect(maintain(f, true) < 0, "sealing waits");
		f->hook.times = 0;
		cr_expect(!delete_range(f, 10, 15, NULL));
		cr_expect(count(f) == 10, "%zu", count(f));
		cr_assert(!reopen(f));
		cr_expect(count(f) == 10);
		cr_assert(!maintain(f, true));
		cr_expect(count(f) == 10);
		teardown(f);
	}
}

Test(outages, a_state_file_that_cannot_be_read_is_kept)
{
	struct fixture *f = patient();

	cr_assert(!maintain(f, true));
	cr_assert(!reopen(f));
	arm(f, FS_READ, "/state", EIO, -1);
	cr_assert(!reopen(f));
	f->hook.times = 0;
	cr_expect(entries(f, "ls | grep -c state") == 2);
	cr_expect(entries(f, "ls | grep -c state.unread") == 1);
	cr_assert(!reopen(f));
	cr_expect(count(f) == 40);
	teardown(f);
}

/*
 * A crash between the new block, which lacks what could not be read, and the
 * renaming of the head block.
 */
Test(outages, a_head_block_that_was_sealed_in_part_is_kept_after_a_crash)
{
	struct fixture *f = patient();

	f->o.outage_ms = -1;
	cr_assert(!reopen(f));
	cr_assert(!tsdb_flush(f->db, NULL));
	break_sector(f, ".0000000100000040", 8192, 8193);
	arm(f, FS_RENAME, ".0000000100000040", EIO, -1);
	cr_expect(maintain(f, true) < 0);
	cr_assert(stats(f).blocks == 1);
	cr_expect(count(f) == 20);
	pull_the_plug(f);
	f->hook.times = 0;
	f->hook.sector = NULL;
	cr_assert(!reopen(f));
	cr_expect(entries(f, "ls ranges | grep -c unread || true") == 1);
	cr_assert(!maintain(f, true), "%zu", count(f));
	cr_expect(count(f) == 40, "%zu", count(f));
	teardown(f);
}

/* What a start could not read is there again without another start. */
Test(outages, a_block_that_a_start_could_not_read_comes_back)
{
	struct fixture *f = patient();

	struct querier *q = NULL;

	cr_assert(!maintain(f, true));
	cr_assert(stats(f).blocks == 1);
	break_sector(f, "/index", 0, 1);
	cr_assert(!reopen(f));
	cr_assert(count(f) == 0);
	querier_open(f->db, NULL, &q);
	cr_assert(querier_lost(q), "answers say that they are not complete");
	cr_expect(querier_lost(q)->code == ERR_IO,
		  "answers say that they are not complete");
	querier_close(q);
	cr_expect(tsdb_snapshot(f->db, "s", true, NULL, NULL) == ERR_IO);
	cr_assert(!maintain(f, true), "still unreadable");
	cr_expect(count(f) == 0, "still unreadable");
	f->hook.sector = NULL;
	cr_assert(!maintain(f, true), "%zu", count(f));
	cr_expect(count(f) == 40, "%zu", count(f));
	cr_assert(stats(f).blocks == 1);
	cr_assert(!reopen(f));
	cr_expect(count(f) == 40);
	teardown(f);
}

Test(outages, a_head_block_that_a_start_could_not_read_comes_back)
{
	struct fixture *f = patient();

	cr_assert(!tsdb_flush(f->db, NULL));
	cr_assert(!reopen(f));
	put_series(f, 0, 20, 30); /* in the WAL */
	pull_the_plug(f);
	arm(f, FS_READ, "/groups", EIO, -1);
	cr_assert(!reopen(f), "%zu", count(f));
	cr_assert(count(f) == 10, "%zu", count(f));
	put_series(f, 1, 30, 35);
	cr_assert(!tsdb_flush(f->db, NULL));
	f->hook.times = 0;
	cr_assert(!maintain(f, false), "%zu", count(f));
	cr_expect(count(f) == 55, "%zu", count(f));
	put_series(f, 1, 35, 40);
	pull_the_plug(f);
	cr_assert(!reopen(f), "%zu", count(f));
	cr_expect(count(f) == 60, "%zu", count(f));
	cr_assert(!maintain(f, true), "%zu", count(f));
	cr_expect(count(f) == 60, "%zu", count(f));
	cr_expect(entries(f, "ls ranges | wc -l") == 0);
	teardown(f);
}

/*
 * The log of a head block says which values and which numbers are in use. The
 * values of records that cannot be read must not be cut off or overwritten.
 */
Test(outages, nothing_is_written_to_a_head_block_that_is_read_in_part)
{
	for (int again = 0; again < 2; again++) {
		struct fixture *f = patient();
		size_t left;
		long values;

		for (int s = 2; s < 100; s++)
			put_series(f, s, 0, 2);
		cr_assert(!tsdb_flush(f->db, NULL));
		cr_assert(!reopen(f));
		cr_assert(count(f) == 236);
		values = entries(f, "stat -c %s ranges/*/values");
		break_sector(f, "/groups", 4096, 8192);
		cr_assert(!reopen(f));
		left = count(f);
		cr_assert(left > 0, "%zu", left);
		cr_assert(left < 236, "%zu", left);
		put_series(f, 0, 30, 35);
		put_series(f, 200, 0, 5);
		cr_expect(!tsdb_flush(f->db, NULL));
		cr_expect(
			entries(f,
				"stat -c %s ranges/*0000000100000040/values") ==
			values);
		f->hook.sector = NULL;
		if (again) {
			pull_the_plug(f);
			cr_assert(!reopen(f));
			cr_assert(count(f) == 246);
		}
		cr_assert(!maintain(f, true));
		cr_expect(!maintain(f, true));
		cr_expect(count(f) == 246, "%zu", count(f));
		cr_assert(!reopen(f));
		cr_expect(count(f) == 246);
		cr_expect(entries(f, "ls ranges | wc -l") == 0);
		teardown(f);
	}
}

/* The clock that was saved cannot be read, and the clock of the machine is wrong. */
Test(outages, a_state_file_that_cannot_be_read_removes_no_profile)
{
	const int64_t days = 100LL * 24 * 3600000;
	struct fixture *f = setup_closed();

	f->o.retention_ms = days / 2;
	f->o.clock_steady_ms = 0;
	reopen(f);
	put_series(f, 0, 0, 20);
	cr_assert(!maintain(f, true));
	cr_assert(!reopen(f));
	clock_set(&f->clock, sample_ms(2000) + days);
	cr_assert(!put(f, 0, (int)(days / 15000) + 1990), "it is new");
	pull_the_plug(f);
	arm(f, FS_READ, "/state", EIO, -1);
	cr_assert(!reopen(f));
	f->hook.times = 0;
	cr_assert(!maintain(f, true), "%zu", count(f));
	cr_expect(count(f) == 21, "%zu", count(f));
	cr_assert(!reopen(f));
	cr_assert(!maintain(f, true));
	cr_expect(count(f) == 21);
	teardown(f);
}

/* They were accepted when the clock was ahead. */
Test(outages, profiles_that_come_back_are_not_too_new)
{
	const int64_t days = 100LL * 24 * 3600000;
	struct fixture *f = setup_closed();

	f->o.outage_ms = -1;
	reopen(f);
	clock_set(&f->clock, sample_ms(2000) + days);
	put_series(f, 0, (int)(days / 15000), (int)(days / 15000) + 20);
	pull_the_plug(f);
	clock_set(&f->clock, sample_ms(2000));
	break_sector(f, "/wal/0", 8192, 8193);
	cr_assert(!reopen(f));
	cr_assert(count(f) < 20);
	f->hook.sector = NULL;
	cr_assert(!maintain(f, true), "%zu", count(f));
	cr_expect(count(f) == 20, "%zu", count(f));
	cr_assert(!reopen(f));
	cr_expect(count(f) == 20);
	teardown(f);
}

/* The crash was between the new block and the removal of the head block. */
Test(outages, a_head_block_that_was_sealed_does_not_come_back)
{
	struct fixture *f = patient();

	cr_assert(!tsdb_flush(f->db, NULL));
	arm(f, FS_RENAME, ".0000000100000040", EIO, -1);
	cr_assert(maintain(f, true) < 0);
	cr_expect(stats(f).blocks == 1);
	pull_the_plug(f);
	arm(f, FS_READ, "/groups", EIO, -1);
	cr_assert(!reopen(f));
	cr_assert(count(f) == 40);
	cr_expect(entries(f, "ls ranges | wc -l") == 1);
	cr_assert(!delete_range(f, 0, 10, NULL));
	cr_assert(count(f) == 20);
	f->hook.times = 0;
	cr_assert(!maintain(f, true), "%zu", count(f));
	cr_expect(count(f) == 20, "%zu", count(f));
	cr_expect(entries(f, "ls ranges | wc -l") == 0);
	cr_assert(!reopen(f));
	cr_expect(count(f) == 20);
	teardown(f);
}

/* What remote write holds cannot make retention remove everything else. */
Test(outages, a_dead_receiver_does_not_cost_what_is_stored)
{
	struct fixture *f = setup_closed();

	f->o.hold_wal = true;
	f->o.wal_segment = 20000;
	reopen(f);
	for (int k = 0; k < 4; k++) {
		put_series(f, 0, k * WINDOW_STEPS, k * WINDOW_STEPS + 40);
		cr_assert(!maintain(f, true));
	}
	cr_assert(entries(f, "ls wal/held | wc -l") > 3);
	cr_assert(count(f) == 160);
	cr_assert(stats(f).blocks == 4);
	/* The database alone fits; what is held is larger than the limit. */
	f->o.retention_bytes =
		entries(f, "du -sb --exclude=held . | cut -f1") * 4 / 3;
	cr_assert(entries(f, "du -sb wal/held | cut -f1") >
		  f->o.retention_bytes / 4);
	reopen(f);
	cr_expect(!maintain(f, true));
	cr_expect(count(f) == 160, "%zu", count(f));
	teardown(f);
}

/* A clock that may be wrong by some hours removes nothing too early. */
Test(outages, a_clock_that_is_not_trusted_yet_removes_nothing_too_early)
{
	struct fixture *f = setup_closed();

	f->o.retention_ms = 6LL * 3600000;
	reopen(f);
	put_series(f, 0, 1900, 1910);
	cr_assert(!maintain(f, true));
	f->o.clock_steady_ms = 0; /* the default: an hour */
	clock_set(&f->clock, sample_ms(1900) + 20LL * 3600000);
	reopen(f);
	cr_assert(!maintain(f, true));
	cr_expect(count(f) == 10);
	f->o.clock_steady_ms = -1;
	reopen(f);
	cr_assert(!maintain(f, true), "%zu", count(f));
	cr_expect(count(f) == 0, "%zu", count(f));
	teardown(f);
}

/* Other rules about what may be refused or taken for normal. */

Test(outages, a_clock_that_may_be_wrong_refuses_nothing_for_good)
{
	struct fixture *f = setup_closed();

	f->o.clock_steady_ms = 0; /* the default: an hour */
	f->o.retention_ms = 3600000;
	reopen(f);
	clock_set(&f->clock, sample_ms(0) - 11 * 60000);
	cr_expect(put(f, 0, 0) == ERR_AGAIN, "in the future");
	clock_set(&f->clock, sample_ms(0) + 3600001);
	cr_expect(put(f, 0, 0) == ERR_AGAIN, "older than the retention");
	clock_set(&f->clock, sample_ms(0));
	cr_expect(!put(f, 0, 0));
	tsdb_close(f->db);
	f->db = NULL;
	f->o.clock_steady_ms = -1;
	reopen(f);
	clock_set(&f->clock, sample_ms(1) - 11 * 60000);
	cr_expect(put(f, 0, 1) == ERR_INVALID);
	teardown(f);
}

Test(outages, a_clock_that_jumps_ahead_ages_no_profile)
{
	struct fixture *f = setup_closed();

	f->o.retention_ms = 90LL * 24 * 3600000;
	reopen(f);
	cr_assert(!put(f, 0, 0));
	clock_set(&f->clock, sample_ms(0) + 100LL * 24 * 3600000);
	cr_expect(!put(f, 0, 1), "the expected time says that it is new");
	teardown(f);
}

Test(outages, a_profile_is_stored_although_a_block_of_its_time_is_damaged)
{
	struct fixture *f = setup();

	put_series(f, 0, 0, 20);
	cr_assert(!maintain(f, true));
	meddle(f, "rm 0*/chunks/000001");
	cr_assert(!reopen(f));
	cr_assert(!put(f, 0, 5));
	cr_expect(!put(f, 0, 50));
	cr_expect(count(f) == 2, "%zu", count(f));
	teardown(f);
}

/* Five segments of some profiles each, as a killed process leaves them. */
static struct fixture *five_segments(void)
{
	struct fixture *f = setup_closed();

	f->o.wal_segment = 20000;
	reopen(f);
	put_series(f, 0, 0, 80);
	cr_assert(entries(f, "ls wal/0* | wc -l") >= 5);
	pull_the_plug(f);
	return f;
}

Test(outages, a_segment_that_lost_its_end_is_damage)
{
	static const char *const losses[] = {
		"truncate -s -4000 wal/00000003",
		"truncate -s 64 wal/00000003",
		": >wal/00000003",
	};

	for (size_t i = 0; i < ARRAY_SIZE(losses); i++) {
		struct fixture *f = five_segments();

		meddle(f, losses[i]);
		cr_expect(count_dumped(f) < 80, "%s", losses[i]);
		cr_assert(!reopen(f));
		cr_expect(tsdb_damage(f->db) >= 1, "%s", losses[i]);
		cr_assert(count(f) < 80, "%s: %zu", losses[i], count(f));
		cr_expect(count(f) >= 50, "%s: %zu", losses[i], count(f));
		teardown(f);
	}
}

Test(outages, a_segment_without_its_directory_is_no_damage)
{
	struct fixture *f = five_segments();

	meddle(f, "truncate -s -20 wal/00000003");
	cr_assert(!reopen(f));
	cr_assert(!tsdb_damage(f->db));
	cr_expect(count(f) == 80);
	teardown(f);
}

Test(outages, a_stray_file_does_not_use_up_the_numbers_of_segments)
{
	struct fixture *f = setup();

	put_series(f, 0, 0, 20);
	pull_the_plug(f);
	meddle(f, ": >wal/4294967295; : >wal/2147483647");
	cr_assert(!reopen(f));
	put_series(f, 0, 20, 40);
	pull_the_plug(f);
	cr_assert(!reopen(f));
	cr_expect(count(f) == 40);
	/* After this one, there is one more, which no start would find. */
	meddle(f, "rm wal/2147483647; : >wal/2147483646");
	cr_assert(!reopen(f));
	cr_assert(put(f, 0, 40) == ERR_IO, "it is refused");
	cr_expect(count(f) == 40, "it is refused");
	meddle(f, "rm -f wal/2147483646*");
	cr_assert(!reopen(f));
	cr_assert(!put(f, 0, 40));
	cr_expect(count(f) == 41);
	teardown(f);
}

Test(outages, a_pipe_in_place_of_the_lock_file_is_no_trap)
{
	struct fixture *f = setup();

	put_series(f, 0, 0, 20);
	meddle(f, "rm lock && mkfifo lock");
	cr_expect(count_dumped(f) == 20);
	cr_assert(!reopen(f));
	teardown(f);
}
