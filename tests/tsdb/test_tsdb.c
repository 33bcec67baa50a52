/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The database from outside: what goes in comes out, over flushes, restarts,
 * late and repeated samples, two processes, damage and cuts.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include "base/file_slurp.h"
#include "base/fs.h"
#include "tests/support/powercut.h"
#include "tests/tsdb/fixture.h"

TestSuite(tsdb, .timeout = 120);

static size_t count_times(struct fixture *f, const char *selector)
{
	struct selector s;
	struct querier *q;
	size_t sum = 0;

	cr_assert(!selector_parse(str_of(selector), &s, NULL));
	querier_open(f->db, NULL, &q);
	cr_assert(!querier_select(q, s.matchers, s.count, INT64_MIN, INT64_MAX,
				  NULL));
	for (size_t i = 0; i < querier_count(q); i++) {
		struct times_view t;

		cr_assert(!querier_times(q, i, INT64_MIN, INT64_MAX, &t, NULL));
		for (size_t k = 1; k < t.count; k++)
			cr_expect(t.ms[k - 1] < t.ms[k]);
		sum += t.count;
	}
	querier_close(q);
	selector_fini(&s);
	return sum;
}

Test(tsdb, profiles_survive_flushes_and_restarts)
{
	struct fixture *f = setup_closed();

	reopen(f);
	for (int k = 0; k < 300; k++) {
		for (int s = 0; s < 3; s++)
			cr_expect(!put(f, s, k));
		if (k % 100 == 50)
			cr_expect(!tsdb_flush(f->db, NULL));
		if (k % 100 == 80)
			reopen(f);
	}
	for (int round = 0; round < 3; round++) {
		for (int s = 0; s < 3; s++)
			cr_expect(count_good(f, s, 0, 300) == 300);
		cr_expect(count_times(f, "{job=\"test\"}") == 900);
		cr_expect(count_times(f, "heap") == 300);
		cr_expect(count_times(f, "{job=\"test\",pod=~\"pod-[02]\"}") ==
			  600);
		cr_expect(count_times(f, "{job=\"test\",pod!=\"pod-0\"}") ==
			  600);
		cr_expect(count_times(f, "{job=\"test\",nope=\"\"}") == 900);
		cr_expect(count_times(f, "{job=\"test\",nope!=\"\"}") == 0);
		if (round == 1)
			cr_expect(!tsdb_flush(f->db, NULL));
		reopen(f);
	}
	teardown(f);
}

Test(tsdb, wal_size_stays_near_its_budget)
{
	struct fixture *f = setup_closed();
	struct tsdb_stats s;

	f->o.wal_budget = 256 * 1024;
	f->o.wal_segment = 32 * 1024;
	reopen(f);
	for (int k = 0; k < 1500; k++)
		cr_expect(!put(f, k % 5, k));
	tsdb_stats(f->db, &s);
	cr_expect(s.wal_bytes <= 256 * 1024 * 3 / 2, "%llu",
		  (unsigned long long)s.wal_bytes);
	cr_expect(s.values_bytes > 0);
	cr_expect(count_times(f, "{job=\"test\"}") == 1500);
	teardown(f);
}

Test(tsdb, listing_times_and_types_reads_no_values)
{
	struct fixture *f = setup_closed();
	struct metric *read = metrics_counter(
		f->metrics, "everprof_tsdb_value_bytes_read_total", "", NULL);
	struct matcher m = { .op = MATCH_EQ,
			     .name = str_of("job"),
			     .value = str_of("test") };
	struct buf types = { 0 };
	struct querier *q;

	reopen(f);
	for (int k = 0; k < 100; k++) {
		cr_expect(!put(f, 0, k));
		if (k == 70)
			cr_expect(!tsdb_flush(f->db, NULL));
	}
	cr_expect(count_times(f, "{job=\"test\"}") == 100);
	querier_open(f->db, NULL, &q);
	cr_assert(!querier_select(q, &m, 1, INT64_MIN, INT64_MAX, NULL));
	cr_expect(!querier_newest_types(q, 0, &types, NULL));
	cr_expect(bytes_eq(buf_bytes(&types), sample_types(0)));
	querier_close(q);
	buf_fini(&types);
	cr_expect(metric_get(read) == 0);
	cr_expect(count_good(f, 0, 0, 1) == 1);
	cr_expect(metric_get(read) > 0);
	teardown(f);
}

Test(tsdb, duplicates_succeed_and_conflicts_fail)
{
	struct fixture *f = setup_closed();
	struct labels *ls = sample_labels(0);
	struct sample other = { .labels = ls,
				.ms = sample_ms(3),
				.body = bytes_of(str_of("other")),
				.raw_len = 5,
				.typeset = sample_types(0),
				.totals = (int64_t[]){ 1 } };
	uint64_t lsn;

	other.hash = hash_bytes(other.body);
	reopen(f);
	for (int round = 0; round < 3; round++) {
		for (int k = 0; k < 10; k++)
			cr_expect(!put(f, 0, k));
		cr_expect(f->a->append(f->a, &other, &lsn, NULL) == ERR_EXISTS);
		cr_expect(count_times(f, "{job=\"test\"}") == 10);
		if (round == 0)
			cr_expect(!tsdb_flush(f->db, NULL));
		else
			reopen(f);
	}
	labels_unref(ls);
	teardown(f);
}

Test(tsdb, late_samples_go_to_the_head_of_their_window)
{
	struct fixture *f = setup_closed();

	/*
	 * 1 000 profiles span three windows. They are appended newest first, in
	 * three rounds of every third profile.
	 */
	reopen(f);
	for (int k = 999; k >= 0; k -= 3)
		cr_expect(!put(f, 0, k));
	cr_expect(!tsdb_flush(f->db, NULL));
	for (int k = 998; k >= 0; k -= 3)
		cr_expect(!put(f, 0, k));
	reopen(f);
	for (int k = 997; k >= 0; k -= 3)
		cr_expect(!put(f, 0, k));
	cr_expect(count_times(f, "{job=\"test\"}") == 1000);
	cr_expect(count_good(f, 0, 0, 1000) == 1000);
	teardown(f);
}

Test(tsdb, accepted_times_depend_only_on_the_clock)
{
	struct fixture *f = setup_closed();

	f->o.retention_ms = 3600000;
	reopen(f);
	clock_set(&f->clock, sample_ms(1000));
	cr_expect(!put(f, 0, 1000));
	cr_expect(!put(f, 0, 1000 + 10 * 4), "10 minutes in the future");
	cr_expect(put(f, 0, 1000 + 10 * 4 + 1) == ERR_INVALID);
	cr_expect(!put(f, 0, 1000 - 60 * 4), "an hour old");
	cr_expect(put(f, 0, 1000 - 60 * 4 - 1) == ERR_INVALID);
	teardown(f);
}

Test(tsdb, opening_a_33rd_head_seals_the_longest_idle_one)
{
	struct fixture *f = setup_closed();
	struct tsdb_stats s;
	uint64_t lsn;
	struct err err;

	f->o.maintain_ms = -1;
	reopen(f);
	clock_set(&f->clock, sample_ms(480 * 41));
	for (int w = 0; w < 40; w++)
		cr_expect(!put(f, 0, w * 480));
	cr_expect(sample_append(f->a, 0, 40 * 480, &lsn, &err) == ERR_LIMIT);
	cr_expect(strstr(err.msg, "40 head blocks") != NULL);
	cr_expect(!tsdb_maintain(f->db, false, NULL));
	tsdb_stats(f->db, &s);
	cr_assert(s.heads <= 32);
	cr_expect(s.blocks > 0);
	cr_expect(!put(f, 0, 40 * 480));
	cr_expect(count_times(f, "{job=\"test\"}") == 41);
	teardown(f);
}

Test(tsdb, second_process_cannot_open_a_locked_directory)
{
	struct fixture *f = setup_closed();
	struct tsdb *second;
	struct err err;
	char want[32];

	reopen(f);
	cr_expect(tsdb_open(&f->o, &second, &err) == ERR_BUSY);
	snprintf(want, sizeof(want), "pid %d", (int)getpid());
	cr_expect(strstr(err.msg, want) != NULL, "%s", err.msg);
	teardown(f);
}

Test(tsdb, read_only_open_beside_a_server_sees_all_and_changes_nothing)
{
	struct fixture *f = setup_closed();
	struct tsdb_options o = f->o;
	struct fixture look = { .metrics = f->metrics };

	reopen(f);
	for (int k = 0; k < 60; k++) {
		cr_expect(!put(f, 0, k));
		if (k == 30)
			cr_expect(!tsdb_flush(f->db, NULL));
	}
	o.read_only = true;
	cr_assert(!tsdb_open(&o, &look.db, NULL));
	cr_expect(count_good(&look, 0, 0, 60) == 60);
	tsdb_close(look.db);
	cr_expect(!put(f, 0, 60));
	reopen(f);
	cr_expect(count_good(f, 0, 0, 61) == 61);
	teardown(f);
}

static char *segment_of(struct fixture *f, int number)
{
	return mem_printf("%s/wal/%08d", f->dir.path, number);
}

static off_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? -1 : st.st_size;
}

/*
 * Makes a database whose first segment is as a crash leaves it, without a
 * directory behind its records.
 */
static struct fixture *crashed(int profiles)
{
	struct fixture *f = setup_closed();
	char *path;
	struct buf bytes = { 0 };
	int fd;

	reopen(f);
	for (int k = 0; k < profiles; k++)
		cr_expect(!put(f, 0, k));
	path = segment_of(f, 1);
	cr_assert(!file_slurp(path, &bytes, NULL));
	tsdb_close(f->db);
	f->db = NULL;
	/* Put back the bytes from before the database was closed. */
	fd = open(path, O_WRONLY | O_TRUNC);
	cr_assert(fd >= 0);
	cr_assert(write(fd, bytes.ptr, bytes.len) == (ssize_t)bytes.len);
	close(fd);
	buf_fini(&bytes);
	mem_free(path);
	return f;
}

/*
 * Start on a data directory whose only file is segment 1, with the first n
 * bytes of w.
 */
static void start_on(struct fixture *f, const struct buf *w, size_t n)
{
	char *wal = mem_printf("%s/wal", f->dir.path);
	char *path = segment_of(f, 1);
	int fd;

	tsdb_close(f->db);
	f->db = NULL;
	tempdir_clear(f->dir.path);
	mkdir(f->dir.path, 0700);
	mkdir(wal, 0700);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	cr_assert(write(fd, w->ptr, n) == (ssize_t)n);
	close(fd);
	reopen(f);
	mem_free(wal);
	mem_free(path);
}

/*
 * Reads the first segment as it is on disk now. It has no directory, because it
 * is not sealed.
 */
static void current_segment(struct fixture *f, struct buf *out)
{
	char *path = segment_of(f, 1);

	buf_reset(out);
	cr_assert(!file_slurp(path, out, NULL));
	mem_free(path);
}

Test(tsdb, segment_truncated_within_its_last_two_records)
{
	struct fixture *f = setup_closed();
	struct buf w = { 0 };
	size_t ends[6];

	reopen(f);
	for (int k = 0; k < 6; k++) {
		cr_expect(!put(f, 0, k));
		current_segment(f, &w);
		ends[k] = w.len;
	}
	for (size_t n = ends[3]; n <= w.len; n++) {
		/* A record ends with up to 7 bytes of padding. */
		int whole = n >= ends[5] - 7 ? 6 : n >= ends[4] - 7 ? 5 : 4;
		int good;

		start_on(f, &w, n);
		good = count_good(f, 0, 0, 6);
		cr_expect(good == whole || (good == whole - 1 && n < ends[5]),
			  "n=%zu: %d", n, good);
		cr_expect(good >= 4);
		if (n == ends[3] || n == ends[4] || n == ends[5])
			cr_expect(good == whole);
	}
	buf_fini(&w);
	teardown(f);
}

/* Appends profile k of series 0, with 300 KB. */
static int put_large(struct fixture *f, int k)
{
	struct labels *ls = sample_labels(0);
	struct buf body = { 0 };
	struct sample s = { .labels = ls,
			    .ms = sample_ms(k),
			    .typeset = sample_types(0),
			    .totals = (int64_t[]){ 1 } };
	unsigned x = (unsigned)k;
	uint64_t lsn;
	int rc;

	for (size_t i = 0; i < 300000; i++) {
		x = x * 1103515245 + 12345;
		buf_byte(&body, (uint8_t)(x >> 16));
	}
	s.body = buf_bytes(&body);
	s.raw_len = (uint32_t)body.len;
	s.hash = hash_bytes(s.body);
	rc = f->a->append(f->a, &s, &lsn, NULL);
	buf_fini(&body);
	labels_unref(ls);
	return rc;
}

Test(tsdb, segment_with_large_records_truncated_at_200_offsets)
{
	struct fixture *f = setup_closed();
	struct buf w = { 0 };
	size_t ends[4];
	uint64_t x = 42;

	f->o.wal_segment = 8 * MIB; /* all records are in the first segment */
	reopen(f);
	for (int k = 0; k < 4; k++) {
		cr_expect(!put_large(f, k));
		current_segment(f, &w);
		ends[k] = w.len;
	}
	for (int cut = 0; cut < 200; cut++) {
		size_t n;
		size_t whole = 0;

		x = x * 6364136223846793005u + 1442695040888963407u;
		n = 64 + (size_t)(x >> 33) % (w.len - 64);
		while (whole < 4 && n >= ends[whole])
			whole++;
		start_on(f, &w, n);
		/*
		 * All profiles whose records are whole are listed, and none
		 * else. Each of them can be appended again.
		 */
		cr_expect(count_times(f, "{job=\"test\"}") == whole, "n=%zu",
			  n);
		for (size_t k = 0; k < whole; k++)
			cr_expect(!put_large(f, (int)k), "the same again");
	}
	buf_fini(&w);
	teardown(f);
}

Test(tsdb, damaged_record_in_the_middle_loses_only_itself)
{
	struct fixture *f = crashed(20);
	char *path = segment_of(f, 1);
	int fd = open(path, O_RDWR);
	off_t size = size_of(path);
	struct metric *seen = metrics_counter(
		f->metrics, "everprof_tsdb_wal_corruptions_total", "", NULL);
	uint8_t junk[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };

	cr_expect(pwrite(fd, junk, 8, size / 2) == 8);
	close(fd);
	reopen(f);
	cr_expect(count_good(f, 0, 0, 20) == 19);
	cr_expect(metric_get(seen) == 1);
	reopen(f);
	cr_expect(count_good(f, 0, 0, 20) == 19);
	mem_free(path);
	teardown(f);
}

Test(tsdb, damaged_body_is_dropped_and_counted_by_flush)
{
	struct fixture *f = setup_closed();
	struct metric *dropped = metrics_counter(
		f->metrics, "everprof_tsdb_profiles_damaged_total", "", NULL);
	char *path = segment_of(f, 1);
	uint8_t junk[8] = { 9, 9, 9, 9, 9, 9, 9, 9 };
	int fd;

	reopen(f);
	for (int k = 0; k < 10; k++)
		cr_expect(!put(f, 0, k));
	fd = open(path, O_RDWR);
	cr_expect(pwrite(fd, junk, 8, size_of(path) - 24) == 8);
	close(fd);
	cr_expect(count_good(f, 0, 0, 10) == 9);
	cr_expect(metric_get(dropped) == 1, "a query has met it");
	cr_expect(!tsdb_flush(f->db, NULL));
	cr_expect(metric_get(dropped) == 2);
	cr_expect(count_good(f, 0, 0, 10) == 9);
	cr_expect(count_times(f, "{job=\"test\"}") == 9);
	mem_free(path);
	teardown(f);
}

Test(tsdb, failed_system_call_keeps_acknowledged_profiles)
{
	/*
	 * For every n, the n-th write, sync, rename or similar call fails once.
	 */
	for (uint64_t n = 1; n < 60; n++) {
		struct fixture *f = setup_closed();
		struct powercut *cut = powercut_new(f->dir.path, n);
		bool stored[40] = { false };

		f->o.path = mem_printf("%s/data", f->dir.path);
		f->o.fs = powercut_fs(cut);
		f->o.wal_segment = 8 * 1024;
		f->o.wal_budget = 32 * 1024;
		powercut_fail_at(cut, n, n % 2 ? ENOSPC : EIO);
		if (!tsdb_open(&f->o, &f->db, NULL)) {
			f->a = tsdb_appender(f->db);
			for (int k = 0; k < 40; k++) {
				stored[k] = !put(f, 0, k);
				if (k % 10 == 9 && tsdb_flush(f->db, NULL)) {
					/* A later flush will succeed. */
				}
			}
		}
		/*
		 * Start again: stored profiles are there, and all can be
		 * appended.
		 */
		reopen(f);
		for (int k = 0; k < 40; k++) {
			if (stored[k])
				cr_expect(count_good(f, 0, k, k + 1) == 1);
		}
		for (int k = 0; k < 40; k++)
			cr_expect(!put(f, 0, k), "n=%d k=%d", (int)n, k);
		cr_expect(count_good(f, 0, 0, 40) == 40, "n=%d", (int)n);
		mem_free((void *)(uintptr_t)f->o.path);
		teardown(f);
		powercut_free(cut);
	}
}

/* A disk whose n-th sync of the first segment fails, once. */
struct bad_disk {
	struct fs fs;
	int syncs;
	int fail_at;
	int number;
};

static int refuse_sync(struct fs *fs, const struct fs_call *call)
{
	struct bad_disk *b = (struct bad_disk *)fs;

	if (call->op != FS_SYNC || !strstr(call->path, "wal/00000001"))
		return 0;
	return ++b->syncs == b->fail_at ? b->number : 0;
}

Test(tsdb, failed_sync_is_never_reported_as_success_later)
{
	/*
	 * The second sync of the segment is one that a caller waits for, the
	 * third is that of sealing.
	 */
	for (int fail_at = 2; fail_at <= 3; fail_at++) {
		struct fixture *f = setup_closed();
		struct bad_disk disk = { .fs.before = refuse_sync,
					 .fail_at = fail_at,
					 .number = EIO };
		uint64_t first;
		uint64_t lsn;
		uint64_t again;
		int k = 1;

		f->o.fs = &disk.fs;
		f->o.wal_segment = 16 * 1024;
		reopen(f);
		cr_expect(!sample_append(f->a, 0, 0, &first, NULL));
		if (fail_at == 2)
			cr_expect(f->a->sync(f->a, first, first, NULL) ==
				  ERR_IO);
		else
			cr_expect(!f->a->sync(f->a, first, first, NULL));
		/* Append until the segment is full and sealed. */
		do {
			cr_expect(!sample_append(f->a, 1, k++, &lsn, NULL));
		} while (lsn >> 32 == 1);
		cr_expect(!f->a->sync(f->a, lsn, lsn, NULL));
		cr_expect(f->a->sync(f->a, first, lsn, NULL) == ERR_IO,
			  "not all that was appended since");
		cr_expect(f->a->sync(f->a, first, first, NULL) ==
			  (fail_at == 2 ? ERR_IO : 0));
		if (fail_at == 2) {
			/*
			 * The profile is written a second time when it is
			 * appended again, and is durable then.
			 */
			cr_expect(!sample_append(f->a, 0, 0, &again, NULL));
			cr_expect(again > lsn);
			cr_expect(!f->a->sync(f->a, again, again, NULL));
		}
		cr_expect(count_good(f, 0, 0, 1) == 1);
		cr_expect(count_times(f, "{job=\"test\"}") == (size_t)k);
		cr_expect(!tsdb_flush(f->db, NULL));
		cr_expect(count_times(f, "{job=\"test\"}") == (size_t)k);
		reopen(f);
		cr_expect(count_times(f, "{job=\"test\"}") == (size_t)k);
		teardown(f);
	}
}

/* A disk on which some bytes of the first segment cannot be read. */
struct bad_sector {
	struct fs fs;
	uint64_t from;
	uint64_t to;
};

static int refuse_read(struct fs *fs, const struct fs_call *call)
{
	struct bad_sector *b = (struct bad_sector *)fs;

	if (call->op != FS_READ || !strstr(call->path, "wal/00000001") ||
	    call->offset >= b->to || call->offset + call->len <= b->from)
		return 0;
	return EIO;
}

Test(tsdb, bad_sector_loses_only_its_profiles)
{
	struct fixture *f = setup_closed();
	struct bad_sector disk = { .fs.before = refuse_read };
	struct metric *dropped = metrics_counter(
		f->metrics, "everprof_tsdb_profiles_damaged_total", "", NULL);
	uint64_t lsn[20];

	f->o.fs = &disk.fs;
	reopen(f);
	for (int k = 0; k < 20; k++)
		cr_expect(!sample_append(f->a, 0, k, &lsn[k], NULL));
	disk.from = (uint32_t)lsn[9] + 1;
	disk.to = disk.from + 16; /* in profile 10 */
	cr_expect(count_good(f, 0, 0, 20) == 19);
	cr_expect(metric_get(dropped) == 1, "a query has met it");
	cr_expect(!tsdb_flush(f->db, NULL));
	cr_expect(metric_get(dropped) == 2);
	cr_expect(count_good(f, 0, 0, 20) == 19);
	/*
	 * After a start on a segment that cannot be read, flushed profiles are
	 * there.
	 */
	disk.from = 0;
	disk.to = UINT64_MAX;
	reopen(f);
	cr_expect(count_good(f, 0, 0, 20) == 19);
	cr_expect(!put(f, 0, 30), "and goes on");
	cr_expect(!tsdb_flush(f->db, NULL));
	teardown(f);
}

Test(tsdb, segment_that_cannot_be_replayed_is_kept)
{
	struct fixture *f = setup_closed();
	struct bad_sector disk = { .fs.before = refuse_read };
	char *path = segment_of(f, 1);
	char *aside = mem_printf("%s.unread", path);

	f->o.fs = &disk.fs;
	reopen(f);
	for (int k = 0; k < 20; k++)
		cr_expect(!put(f, 0, k));
	disk.from = 64; /* the header can be read, but no record */
	disk.to = UINT64_MAX;
	reopen(f);
	cr_expect(count_good(f, 0, 0, 20) == 0);
	for (int k = 20; k < 30; k++)
		cr_expect(!put(f, 0, k));
	reopen(f);
	cr_expect(!tsdb_flush(f->db, NULL));
	cr_expect(size_of(aside) > 1000, "it may be read another day");
	cr_expect(count_times(f, "{job=\"test\"}") == 10);
	disk.from = UINT64_MAX; /* the other day */
	reopen(f);
	cr_expect(!tsdb_maintain(f->db, false, NULL));
	cr_expect(count_times(f, "{job=\"test\"}") == 30);
	cr_assert(size_of(aside) < 0);
	cr_expect(size_of(path) < 0);
	mem_free(path);
	mem_free(aside);
	teardown(f);
}

/* Returns the folder of the only head block. The caller frees the path. */
static char *head_of(struct fixture *f)
{
	char *ranges = mem_printf("%s/ranges", f->dir.path);
	struct name_list l = { 0 };
	char *path;

	cr_assert(!fs_list(NULL, ranges, &l, NULL));
	cr_assert(l.count >= 1);
	path = mem_printf("%s/%s", ranges, l.names[0]);
	name_list_fini(&l);
	mem_free(ranges);
	return path;
}

Test(tsdb, start_removes_no_directory_with_data)
{
	struct fixture *f = setup_closed();
	char *range;
	char *groups;
	char *values;
	char *copy;
	char *kept;

	reopen(f);
	for (int k = 0; k < 50; k++)
		cr_expect(!put(f, 0, k));
	cr_expect(!tsdb_flush(f->db, NULL));
	range = head_of(f);
	groups = mem_printf("%s/groups", range);
	values = mem_printf("%s.damaged/values", range);
	copy = mem_printf("%s.bad", range);
	kept = mem_printf("%s/values", copy);
	mkdir(copy, 0700);
	close(open(kept, O_CREAT | O_WRONLY, 0600));
	unlink(groups);
	reopen(f);
	cr_expect(access(kept, F_OK) == 0, "an operator's copy stays");
	cr_expect(size_of(values) > 1000, "values without a log stay");
	mem_free(range);
	mem_free(groups);
	mem_free(values);
	mem_free(copy);
	mem_free(kept);
	teardown(f);
}

Test(tsdb, damaged_chunk_metadata_hides_no_other_chunk)
{
	struct fixture *f = setup_closed();
	char *range;
	char *groups;
	int fd;

	reopen(f);
	for (int k = 0; k < 40; k++)
		cr_expect(!put(f, 0, k));
	cr_expect(!tsdb_flush(f->db, NULL));
	range = head_of(f);
	groups = mem_printf("%s/groups", range);
	fd = open(groups, O_RDWR);
	cr_expect(pwrite(fd, "junk", 4, size_of(groups) - 60) == 4);
	close(fd);
	cr_expect(count_times(f, "{job=\"test\"}") == 32);
	cr_expect(count_good(f, 0, 0, 40) == 32);
	mem_free(range);
	mem_free(groups);
	teardown(f);
}

struct worker {
	struct fixture *f;
	int series;
	_Atomic bool *stop;
	int bad;
};

static void *append_all(void *arg)
{
	struct worker *w = arg;

	for (int k = 0; k < 400; k++) {
		struct appender *a = w->f->a;
		uint64_t lsn;

		w->bad += sample_append(a, w->series, k, &lsn, NULL) != 0;
		if (k % 50 == 0)
			w->bad += a->sync(a, lsn, lsn, NULL) != 0;
	}
	return NULL;
}

static void *flush_all(void *arg)
{
	struct worker *w = arg;

	while (!atomic_load(w->stop))
		w->bad += tsdb_flush(w->f->db, NULL) != 0;
	return NULL;
}

static void *query_all(void *arg)
{
	struct worker *w = arg;

	while (!atomic_load(w->stop)) {
		int good = count_good(w->f, w->series, 0, 400);
		size_t listed = count_times(w->f, "{job=\"test\"}");

		w->bad += good > 400 || listed > 1200;
	}
	return NULL;
}

Test(tsdb, concurrent_appends_flushes_and_queries)
{
	struct fixture *f = setup_closed();
	_Atomic bool stop = false;
	struct worker w[6];
	pthread_t t[6];

	f->o.wal_segment = 32 * 1024;
	reopen(f);
	for (int i = 0; i < 6; i++)
		w[i] = (struct worker){ f, i % 3, &stop, 0 };
	for (int i = 0; i < 6; i++)
		pthread_create(&t[i], NULL,
			       i < 3 ? append_all :
			       i < 4 ? flush_all :
				       query_all,
			       &w[i]);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	atomic_store(&stop, true);
	for (int i = 3; i < 6; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < 6; i++)
		cr_expect(w[i].bad == 0, "thread %d: %d", i, w[i].bad);
	for (int s = 0; s < 3; s++)
		cr_expect(count_good(f, s, 0, 400) == 400);
	teardown(f);
}
