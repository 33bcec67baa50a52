/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Damage: bad sectors under files and maps, files that vanish, and calls that
 * fail once. Each costs only the profiles that lay there, is reported and
 * counted, and does not remove a readable copy of a profile.
 */
#include <signal.h>
#include <sys/resource.h>

#include "tests/tsdb/mishap.h"
#include "tsdb/maintain/deletion.h"
#include "tsdb/maintain/stats.h"
#include "tsdb/tools/repair.h"
#include "tsdb/tools/verify.h"

TestSuite(damage, .timeout = 240);

#define WINDOW_STEPS 480 /* samples of 15 s in a window of two hours */

/* Makes two blocks of 20 profiles each, and a head with 10 flushed profiles. */
static struct fixture *two_blocks(void)
{
	struct fixture *f = setup();

	put_series(f, 0, 0, 20);
	put_series(f, 0, WINDOW_STEPS, WINDOW_STEPS + 20);
	cr_assert(!maintain(f, true));
	put_series(f, 1, 1900, 1910);
	cr_assert(!tsdb_flush(f->db, NULL));
	cr_assert(count(f) == 50);
	return f;
}

static uint64_t damage_of(struct fixture *f)
{
	return tsdb_damage(f->db);
}

static struct tsdb_repair repair(struct fixture *f)
{
	struct tsdb_repair done = { 0 };

	(void)!tsdb_repair(f->db, &done, NULL);
	return done;
}

/*
 * Runs a shell command in the data directory and returns the number that it
 * prints.
 */
static long ask(struct fixture *f, const char *what)
{
	CLEANUP(mem_freep)
	char *command = mem_printf("cd %s && %s", f->dir.path, what);
	FILE *p = popen(command, "r");
	long n = -1;

	cr_assert(p, "%s", what);
	cr_assert(fscanf(p, "%ld", &n) == 1, "%s", what);
	pclose(p);
	return n;
}

static void verify_ignore(void *ctx, const char *path, const char *what)
{
	(void)ctx;
	(void)path;
	(void)what;
}

/* Mapped files. */

Test(damage, unreadable_index_page_loses_only_its_block)
{
	struct fixture *f = two_blocks();

	break_sector(f, "/index", 0, 1);
	cr_assert(!reopen(f));
	cr_expect(f->hook.misses > 0);
	cr_expect(count(f) == 10, "no index can be read: the range is");
	cr_expect(damage_of(f) >= 2);
	f->hook.sector = NULL;
	cr_assert(!reopen(f), "it was left as it is");
	cr_expect(count(f) == 50, "it was left as it is");
	teardown(f);
}

Test(damage, unreadable_chunks_page_loses_only_its_chunks)
{
	struct fixture *f = two_blocks();

	/*
	 * The chunks become unreadable while the database is open. They were
	 * not read before.
	 */
	break_sector(f, "/chunks/", 8, 9999);
	cr_expect(count(f) == 10);
	cr_assert(f->hook.misses > 0);
	cr_expect(damage_of(f) > 0);
	cr_assert(!reopen(f), "a start is not kept up");
	cr_expect(count(f) == 10, "a start is not kept up");
	f->hook.sector = NULL;
	cr_expect(count(f) == 50, "and what it says once it answers again");
	teardown(f);
}

Test(damage, files_truncated_while_mapped_are_reported_as_damage)
{
	static const char *const files[] = { "chunks/000001", "index" };

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		CLEANUP(mem_freep)
		char *cut =
			mem_printf("for f in 0*/%s; do : >$f; done", files[i]);
		struct fixture *f = two_blocks();

		meddle_live(f, cut); /* this causes a real SIGBUS */
		cr_expect(count(f) == 10, "%s", files[i]);
		cr_expect(damage_of(f) > 0);
		put_series(f, 1, 1910, 1920);
		cr_expect(count(f) == 20);
		cr_assert(!reopen(f), "what the WAL still has is taken back");
		cr_expect(count(f) == 60,
			  "what the WAL still has is taken back");
		teardown(f);
	}
}

/* Values. */

static int fetch_third(struct fixture *f, struct err *err)
{
	struct profile p = { 0 };
	struct querier *q;
	int rc;

	querier_open(f->db, NULL, &q);
	querier_sequential(q); /* as merges read */
	cr_assert(!querier_select(q, NULL, 0, INT64_MIN, INT64_MAX, NULL));
	cr_assert(querier_count(q) == 2);
	rc = querier_fetch(q, 0, sample_ms(3), &p, err);
	profile_fini(&p);
	querier_close(q);
	return rc;
}

Test(damage, block_without_values_file_reports_errors)
{
	struct fixture *f = two_blocks();
	struct err err = { 0 };

	meddle(f, "rm 0*/values/000001");
	cr_assert(!reopen(f));
	cr_assert(fetch_third(f, &err) == ERR_CORRUPT);
	cr_expect(err.msg[0]);
	cr_assert(damage_of(f) > 0);
	cr_expect(count(f) == 10);
	teardown(f);
}

Test(damage, damaged_values_header_loses_no_profile)
{
	struct fixture *f = two_blocks();
	struct err err = { 0 };

	meddle(f, "for f in 0*/values/000001; do dd if=/dev/zero of=$f bs=64 "
		  "count=1 conv=notrunc status=none; done");
	cr_assert(!reopen(f));
	cr_expect(!fetch_third(f, &err));
	cr_assert(damage_of(f) > 0);
	cr_expect(count(f) == 50);
	teardown(f);
}

Test(damage, maintenance_keeps_damaged_blocks)
{
	struct matcher all = { .op = MATCH_EQ,
			       .name = str_of("__name__"),
			       .value = str_of("cpu") };
	struct fixture *f = two_blocks();

	meddle(f, "mkdir aside && for b in 0*; do mv $b/values/000001 "
		  "aside/$b; done");
	cr_assert(!reopen(f));
	cr_expect(!tsdb_delete(f->db, &all, 1, sample_ms(0), sample_ms(0), NULL,
			       NULL));
	cr_expect(tsdb_clean_tombstones(f->db, NULL, NULL) == ERR_CORRUPT,
		  "it says so");
	(void)!maintain(f, true);
	meddle(f, "for b in 0*; do [ ! -e aside/$b ] || mv aside/$b "
		  "$b/values/000001; done");
	cr_assert(!reopen(f), "nothing was dropped");
	cr_expect(count(f) == 49, "nothing was dropped");
	teardown(f);
}

/* The write-ahead log is the last copy. */

static const char *const loses_block[] = {
	"rm $(ls -d 0* | head -1)/meta.json",
	"rm -r $(ls -d 0* | head -1)",
	"printf x | dd of=$(ls -d 0* | head -1)/index bs=1 seek=20 "
	"conv=notrunc status=none",
	/*
	 * No checksum covers the version of the index. If the version is
	 * damaged, the file must not be taken for one of a newer format.
	 */
	"printf x | dd of=$(ls -d 0* | head -1)/index bs=1 seek=4 "
	"conv=notrunc status=none",
	"printf x | dd of=$(ls -d 0* | head -1)/meta.json bs=1 seek=50 "
	"conv=notrunc status=none",
};

/*
 * Makes 40 profiles in blocks, and 10 in the WAL only. Because of these 10, the
 * WAL still has all 50.
 */
static struct fixture *with_wal(void)
{
	struct fixture *f = setup();

	put_series(f, 1, 1900, 1910);
	put_series(f, 0, 0, 20);
	put_series(f, 0, WINDOW_STEPS, WINDOW_STEPS + 20);
	clock_set(&f->clock, sample_ms(2000) + 700000);
	cr_assert(!maintain(f, false), "what is over is sealed");
	pull_the_plug(f);
	return f;
}

Test(damage, profiles_of_a_lost_block_are_restored_from_the_wal)
{
	for (size_t i = 0; i < ARRAY_SIZE(loses_block); i++) {
		struct fixture *f = with_wal();

		meddle(f, loses_block[i]);
		cr_expect(count_dumped(f) == 50, "%s", loses_block[i]);
		cr_assert(!reopen(f));
		cr_expect(count(f) == 50);
		cr_expect(tsdb_recovered(f->db) >= 20, "%zu: it says so, %s",
			  (size_t)tsdb_recovered(f->db), loses_block[i]);
		cr_assert(!maintain(f, true));
		cr_expect(count(f) == 50);
		cr_assert(!reopen(f));
		cr_expect(count(f) == 50);
		cr_expect(tsdb_recovered(f->db) == 0);
		teardown(f);
	}
}

Test(damage, profiles_of_a_lost_head_are_restored_from_the_wal)
{
	struct fixture *f = setup();
	struct verify v = { .found = NULL };
	size_t problems;

	put_series(f, 1, 1900, 1910);
	put_series(f, 0, 0, 20);
	cr_assert(!tsdb_flush(f->db, NULL));
	put_series(f, 1, 1910, 1920);
	pull_the_plug(f);
	meddle(f, "rm -r $(ls -d ranges/* | head -1)");
	cr_expect(count_dumped(f) == 40);
	v.found = verify_ignore;
	cr_expect(!tsdb_verify(f->dir.path, &v, NULL));
	problems = v.problems;
	cr_expect(problems > 0, "verify warns of it");
	cr_assert(!reopen(f));
	cr_expect(count(f) == 40);
	cr_expect(repair(f).recovered == 20);
	cr_assert(!reopen(f));
	cr_expect(count(f) == 40);
	teardown(f);
}

Test(damage, removed_profiles_are_not_restored_from_the_wal)
{
	struct matcher all = { .op = MATCH_EQ,
			       .name = str_of("__name__"),
			       .value = str_of("cpu") };
	struct fixture *f = setup();

	put_series(f, 1, 1900, 1910);
	/* The whole head is deleted, so that no block is made. */
	put_series(f, 0, 0, 20);
	cr_expect(!tsdb_delete(f->db, &all, 1, 0, INT64_MAX, NULL, NULL));
	clock_set(&f->clock, sample_ms(2000) + 700000);
	cr_expect(!maintain(f, false));
	put_series(f, 0, WINDOW_STEPS, WINDOW_STEPS + 20);
	clock_set(&f->clock, sample_ms(2000) + 1400000);
	cr_expect(!maintain(f, false), "a block, that goes whole, too");
	cr_expect(!tsdb_delete(f->db, &all, 1, 0, INT64_MAX, NULL, NULL));
	cr_assert(!tsdb_clean_tombstones(f->db, NULL, NULL));
	cr_expect(count(f) == 10);
	pull_the_plug(f);
	cr_expect(count_dumped(f) == 10);
	cr_assert(!reopen(f));
	cr_expect(count(f) == 10);
	cr_expect(tsdb_recovered(f->db) == 0);
	teardown(f);
}

Test(damage, head_with_a_transient_read_error_is_not_replaced)
{
	struct fixture *f = setup();

	put_series(f, 0, 0, 20);
	cr_assert(!tsdb_flush(f->db, NULL));
	put_series(f, 0, 20, 30);
	pull_the_plug(f);
	arm(f, FS_OPEN, "/groups", EIO, 1);
	cr_assert(!reopen(f));
	cr_expect(f->hook.hits == 1);
	cr_expect(count(f) == 30, "from the WAL, meanwhile");
	cr_assert(!reopen(f));
	cr_expect(count(f) == 30);
	cr_assert(!maintain(f, true));
	cr_expect(count(f) == 30);
	cr_assert(!reopen(f));
	cr_expect(count(f) == 30);
	teardown(f);
}

Test(damage, bad_sector_in_the_wal_loses_only_its_records)
{
	for (int sealed = 0; sealed < 2; sealed++) {
		struct fixture *f = setup();
		uint64_t size;
		long pages;

		put_series(f, 0, 0, 40);
		if (sealed) {
			cr_assert(!reopen(f)); /* this seals the segment */
		}
		pull_the_plug(f);
		size = (uint64_t)ask(f, "stat -c %s wal/00000001");
		pages = (long)(size / 4096 + 1);
		cr_assert(pages > 5);
		for (long page = 0; page < pages; page++) {
			size_t left;

			break_sector(f, "wal/00000001", (uint64_t)page * 4096,
				     (uint64_t)page * 4096 + 1);
			left = count_dumped(f);
			/*
			 * A record has 300 to 2 300 bytes, so that a page has
			 * parts of 16 records at most.
			 */
			cr_expect(left >= 40 - 16, "page %ld: %zu", page, left);
		}
		f->hook.sector = NULL;
		cr_assert(!reopen(f));
		cr_expect(count(f) == 40);
		teardown(f);
	}
}

Test(damage, partly_unreadable_segment_is_renamed_not_removed)
{
	struct fixture *f = setup();
	size_t left;

	put_series(f, 0, 0, 40);
	pull_the_plug(f);
	break_sector(f, "wal/00000001", 8192, 8193);
	cr_assert(!reopen(f));
	cr_expect(damage_of(f) > 0);
	left = count(f);
	cr_assert(left < 40);
	cr_expect(left >= 24);
	cr_assert(!maintain(f, true));
	cr_expect(count(f) == left);
	cr_assert(!reopen(f));
	cr_expect(count(f) == left);
	cr_expect(ask(f, "ls wal | grep -c unread") == 1);
	teardown(f);
}

Test(damage, directory_named_like_a_segment_is_skipped)
{
	struct fixture *f = setup();

	put_series(f, 0, 0, 10);
	pull_the_plug(f);
	meddle(f, "mkdir wal/00000007");
	cr_assert(!reopen(f));
	cr_expect(count(f) == 10);
	put_series(f, 0, 10, 20);
	cr_assert(!reopen(f));
	cr_expect(count(f) == 20);
	teardown(f);
}

Test(damage, torn_end_after_a_power_cut_is_not_counted_as_corruption)
{
	struct fixture *f = setup();

	put_series(f, 0, 0, 10);
	pull_the_plug(f);
	meddle(f, "truncate -s -100 wal/00000001");
	cr_assert(!reopen(f));
	cr_expect(count(f) == 9);
	cr_expect(damage_of(f) == 0);
	teardown(f);
}

/* A disk that does not answer and bytes that are wrong are different errors. */

Test(damage, transient_read_error_drops_no_profile)
{
	static const enum fs_op ops[] = { FS_STAT,  FS_OPEN, FS_READ, FS_PAGE,
					  FS_CLOSE, FS_LIST, FS_MMAP };
	struct matcher one = { .op = MATCH_EQ,
			       .name = str_of("__name__"),
			       .value = str_of("cpu") };

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		struct fixture *f = two_blocks();
		long calls;

		arm(f, ops[i], "/0", EIO, 0);
		for (calls = 0; calls < 60; calls++) {
			tsdb_close(f->db);
			f->db = NULL;
			arm(f, ops[i], calls % 2 ? "/values/" : "/0", EIO, 1);
			if (tsdb_open(&f->o, &f->db, NULL))
				continue; /* the open may fail, too */
			(void)!tsdb_delete(f->db, &one, 1, sample_ms(0),
					   sample_ms(0), NULL, NULL);
			(void)!tsdb_clean_tombstones(f->db, NULL, NULL);
			(void)!maintain(f, true);
		}
		f->hook.times = 0;
		cr_assert(!reopen(f), "op %d", ops[i]);
		cr_expect(count(f) == 49, "op %d", ops[i]);
		teardown(f);
	}
}

Test(damage, repair_keeps_readable_profiles_around_bad_sectors)
{
	struct fixture *f = setup();
	struct tsdb_repair done;

	for (int w = 0; w < 3; w++)
		for (int s = 0; s < 4; s++)
			put_series(f, s, w * WINDOW_STEPS,
				   w * WINDOW_STEPS + 32);
	cr_assert(!maintain(f, true));
	cr_assert(!reopen(f));
	cr_assert(count(f) == 3 * 4 * 32);
	/* The bad sector is in the values file of each block. */
	break_sector(f, "/values/000001", 3000, 3001);
	cr_expect(!reopen(f));
	done = repair(f);
	cr_assert(done.rewritten >= 1);
	cr_expect(done.lost >= 32);
	cr_expect(done.set_aside >= 1, "it may be read another day");
	f->hook.sector = NULL;
	cr_expect(!reopen(f));
	cr_expect(count(f) == 3 * 4 * 32 - done.lost, "%zu", count(f));
	cr_expect(ask(f, "ls | grep -c unread") >= 1);
	cr_expect(!maintain(f, true), "another day");
	cr_expect(count(f) == 3 * 4 * 32, "%zu", count(f));
	teardown(f);
}

/* Other errors. */

Test(damage, file_size_limit_is_an_error_not_a_signal)
{
	struct fixture *f = setup();
	struct rlimit was;
	struct rlimit low;

	signal(SIGXFSZ, SIG_IGN); /* as main() does */
	put_series(f, 0, 0, 10);
	getrlimit(RLIMIT_FSIZE, &was);
	low = was;
	low.rlim_cur = 20000;
	cr_assert(!setrlimit(RLIMIT_FSIZE, &low));
	for (int k = 10; k < 60; k++) {
		int rc = put(f, 0, k);

		cr_expect(!rc || rc == ERR_NOSPACE);
	}
	cr_assert(!setrlimit(RLIMIT_FSIZE, &was));
	cr_expect(count(f) >= 10);
	cr_assert(!reopen(f));
	cr_expect(count(f) >= 10);
	teardown(f);
}

Test(damage, directory_lock_holds_after_its_file_is_removed)
{
	struct fixture *f = setup();
	struct tsdb *second = NULL;
	struct err err;

	meddle_live(f, "rm lock");
	cr_expect(tsdb_open(&f->o, &second, &err) == ERR_BUSY);
	teardown(f);
}

Test(damage, waiting_appends_return_at_shutdown)
{
	struct fixture *f = setup();
	int64_t began;

	f->o.max_series = 2;
	f->o.maintain_ms = 3600000;
	cr_assert(!reopen(f));
	put_series(f, 0, 1900, 1901);
	put_series(f, 1, 1900, 1901);
	arm(f, FS_MKDIR, ".tmp-for-creation", EIO, -1); /* sealing fails */
	cr_expect(!put(f, 2, 1900) || true);
	tsdb_interrupt(f->db);
	began = clock_mono_ns();
	for (int s = 3; s < 9; s++)
		(void)put(f, s, 1900);
	cr_expect(clock_mono_ns() - began < 5 * 1000000000ll);
	f->hook.times = 0;
	teardown(f);
}

Test(damage, waiting_appends_do_not_spin)
{
	struct fixture *f = setup();

	f->o.max_series = 2;
	f->o.maintain_ms = 3600000;
	cr_assert(!reopen(f));
	arm(f, FS_MKDIR, ".tmp-for-creation", EIO, -1);
	for (int s = 0; s < 4; s++)
		(void)put(f, s, 1900);
	/*
	 * Each append that waits gives up after ten seconds and makes about
	 * four attempts a second.
	 */
	cr_expect(f->hook.hits < 200, "%ld", f->hook.hits);
	f->hook.times = 0;
	teardown(f);
}

struct deleter {
	struct fixture *f;
	_Atomic bool stop;
};

static void *keep_deleting(void *arg)
{
	struct matcher one = { .op = MATCH_EQ,
			       .name = str_of("pod"),
			       .value = str_of("pod-1") };
	struct deleter *d = arg;

	for (int k = 0; !d->stop; k++)
		(void)!tsdb_delete(d->f->db, &one, 1, sample_ms(k % 100),
				   sample_ms(k % 100), NULL, NULL);
	return NULL;
}

Test(damage, deletions_do_not_starve_compaction)
{
	struct fixture *f = setup();
	struct deleter deleter = { .f = f };
	struct tsdb_stats s;
	pthread_t thread;

	/*
	 * Writing a block takes long enough for a deletion to come meanwhile.
	 */
	arm(f, FS_OPEN, ".tmp-for-creation/values", 0, -1);
	f->hook.slow_us = 20000;
	pthread_create(&thread, NULL, keep_deleting, &deleter);
	for (int n = 0; n < 30; n++) { /* generations of one window */
		for (int series = 0; series < 6; series++)
			put_series(f, series, n * 4, n * 4 + 4);
		(void)!maintain(f, true);
	}
	tsdb_stats(f->db, &s);
	deleter.stop = true;
	pthread_join(thread, NULL);
	cr_expect(s.blocks <= 4, "%llu blocks", (unsigned long long)s.blocks);
	f->hook.times = 0;
	teardown(f);
}

/*
 * No directory can be made, as if all inodes were in use, although bytes are
 * free. Sealing resumes soon after directories can be made again.
 */
Test(damage, sealing_resumes_soon_after_a_full_disk)
{
	struct fixture *f = setup();
	int rc = 0;

	f->o.max_series = 2;
	f->o.maintain_ms = 3600000;
	cr_assert(!reopen(f));
	arm(f, FS_MKDIR, ".tmp-for-creation", ENOSPC, -1);
	for (int s = 0; s < 8 && !rc; s++)
		rc = put(f, s, 1900);
	cr_expect(rc == ERR_LIMIT, "%d", rc);
	f->hook.times = 0;
	/*
	 * An append waits ten seconds at most. Sealing is retried within them,
	 * and not only after a minute as after other failures.
	 */
	cr_expect(!put(f, 8, 1900));
	teardown(f);
}
