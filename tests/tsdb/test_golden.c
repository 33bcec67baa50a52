/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small data directories as the first writers of a format left them. Every
 * later everprof must open them, and must notice any changed bit in them.
 * golden-1 has its groups as zstd. golden-2 has its block as columns.
 *
 * EVERPROF_GOLDEN=DIR writes such directories into DIR. EVERPROF_FLIPS=1 flips
 * every bit, instead of one bit of each byte.
 */
#include <ftw.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file_slurp.h"
#include "base/mem.h"
#include "pprof/columns/columns.h"
#include "tests/check.h"
#include "tests/tempdir.h"
#include "tests/tsdb/profile.h"
#include "tests/tsdb/sample.h"
#include "tsdb/maintain/deletion.h"
#include "tsdb/maintain/stats.h"
#include "tsdb/query/querier.h"
#include "tsdb/tools/verify.h"

TestSuite(golden, .timeout = 7200);

#define SERIES   2
#define PROFILES 12
#define SEALED   5 /* in a block; golden-2 has only these */
#define VERSIONS 2

static int version = 1; /* of the directory that is being tested */

/*
 * Whether a profile is deleted: one was in a block, one in the file `groups` of
 * a head block, and one in the WAL.
 */
static bool is_deleted(int series, int k)
{
	return series == 0 && (k == 2 || k == 7 || k == 10);
}

static int64_t time_of(int k)
{
	return 1700000000000LL + (int64_t)k * 15000;
}

static void body_of(int series, int k, struct buf *out)
{
	if (version == 2) {
		profile_make(series, k, out);
		return;
	}
	buf_reset(out);
	buf_printf(out, "profile %d of series %d", k, series);
}

static int profiles(void)
{
	return version == 2 ? SEALED : PROFILES;
}

static const struct codec *columns(void)
{
	return version == 2 ? &codec_columns : NULL;
}

static struct labels *labels_of(int series)
{
	struct labels_builder b = { 0 };
	struct labels *ls = NULL;

	labels_set(&b, str_of("__name__"), str_of("heap"));
	labels_set(&b, str_of("n"), str_of(series ? "b" : "a"));
	if (labels_build(&b, &ls, NULL))
		abort();
	labels_builder_fini(&b);
	return ls;
}

/* Writing a directory. */

static void append(struct tsdb *db, int series, int k)
{
	struct appender *a = tsdb_appender(db);
	struct labels *ls = labels_of(series);
	struct buf body = { 0 };
	int64_t totals[2] = { k, 1 };
	struct sample s = { .labels = ls,
			    .ms = time_of(k),
			    .typeset = sample_types(series),
			    .totals = totals,
			    .period = 1 };
	uint64_t lsn;

	body_of(series, k, &body);
	s.body = buf_bytes(&body);
	s.raw_len = (uint32_t)body.len;
	s.hash = hash_bytes(s.body);
	cr_assert(!a->append(a, &s, &lsn, NULL));
	buf_fini(&body);
	labels_unref(ls);
}

static void delete_one(struct tsdb *db, int k)
{
	struct matcher m = { .op = MATCH_EQ,
			     .name = str_of("n"),
			     .value = str_of("a") };

	cr_assert(!tsdb_delete(db, &m, 1, time_of(k), time_of(k), NULL, NULL));
}

static void write_golden(const char *path)
{
	struct metrics *m = metrics_new();
	struct clock clock = { 0 };
	struct tsdb_options o = { .path = path,
				  .metrics = m,
				  .clock = &clock,
				  .columns = columns(),
				  .sync_ms = 3600000,
				  .maintain_ms = -1 };
	struct tsdb *db = NULL;
	char ballast[512];

	clock_set(&clock, time_of(100));
	cr_assert(!tsdb_open(&o, &db, NULL));
	for (int k = 0; k < profiles(); k++) {
		for (int s = 0; s < SERIES; s++)
			append(db, s, k);
		if (k == SEALED - 1) {
			cr_assert(!tsdb_maintain(db, true, NULL));
			delete_one(db, 2);
		}
		if (k == 8)
			cr_assert(!tsdb_flush(db, NULL));
	}
	for (int k = 7; k < profiles(); k += 3)
		delete_one(db, k);
	tsdb_close(db);
	metrics_free(m);
	snprintf(ballast, sizeof(ballast), "%s/ballast", path);
	unlink(ballast);
	snprintf(ballast, sizeof(ballast), "%s/lock", path);
	unlink(ballast);
}

/* Reading a directory. */

struct look {
	int good;
	int lost;    /* not there */
	int wrong;   /* other bytes than went in, or deleted ones */
	bool signal; /* an error or a metric tells of damage */
};

#define TORN \
	"Logs whose end a start cut off: what was being written when the power went, never acknowledged."

static int64_t counter(struct metrics *m, const char *name, const char *help)
{
	return metric_get(metrics_counter(m, name, help, NULL));
}

static void look_at_series(struct tsdb *db, int series, struct look *l)
{
	struct matcher m = { .op = MATCH_EQ,
			     .name = str_of("n"),
			     .value = str_of(series ? "b" : "a") };
	struct profile p = { 0 };
	struct buf want = { 0 };
	struct querier *q;

	querier_open(db, NULL, &q);
	cr_assert(!querier_select(q, &m, 1, INT64_MIN, INT64_MAX, NULL));
	for (int k = 0; k < profiles(); k++) {
		int rc = querier_count(q) ?
				 querier_fetch(q, 0, time_of(k), &p, NULL) :
				 ERR_NOTFOUND;

		body_of(series, k, &want);
		if (rc && rc != ERR_NOTFOUND)
			l->signal = true;
		if (!rc && !bytes_eq(buf_bytes(&p.raw), buf_bytes(&want)))
			l->wrong++;
		else if (is_deleted(series, k))
			l->good += rc == ERR_NOTFOUND;
		else
			*(rc ? &l->lost : &l->good) += 1;
	}
	profile_fini(&p);
	buf_fini(&want);
	querier_close(q);
}

static struct look look_at(const char *path)
{
	struct metrics *m = metrics_new();
	struct tsdb_options o = { .path = path,
				  .metrics = m,
				  .columns = columns(),
				  .read_only = true };
	struct tsdb *db = NULL;
	struct look l = { 0 };

	if (tsdb_open(&o, &db, NULL)) {
		l.signal = true;
	} else {
		for (int s = 0; s < SERIES; s++)
			look_at_series(db, s, &l);
		l.signal = l.signal || tsdb_damage(db) ||
			   counter(m, "everprof_tsdb_torn_ends_total", TORN);
		tsdb_close(db);
	}
	metrics_free(m);
	return l;
}

static void ignore(void *ctx, const char *path, const char *what)
{
	(void)ctx;
	if (getenv("EVERPROF_SHOW"))
		fprintf(stderr, "%s: %s\n", path, what);
}

static uint64_t problems(const char *path)
{
	struct verify v = { .found = ignore, .columns = columns() };

	return tsdb_verify(path, &v, NULL) ? 1 : v.problems;
}

/*
 * Copies testdata/golden-<version> to the folder, which is in memory if
 * possible. Returns the path of the copy, which the caller frees.
 */
static char *copy_golden(struct tempdir *dir)
{
	char *path = mem_printf("%s/data", dir->path);
	char *command =
		mem_printf("cp -r %s/golden-%d %s", TESTDATA, version, path);

	cr_assert(!system(command));
	mem_free(command);
	return path;
}

static void write_wanted(void)
{
	const char *into = getenv("EVERPROF_GOLDEN");
	char *path;

	if (!into)
		return;
	path = mem_printf("%s/golden-%d", into, version);
	write_golden(path);
	mem_free(path);
}

static void opens_whole(void)
{
	struct tempdir dir = tempdir_make();
	char *path;
	struct look l;

	write_wanted();
	path = copy_golden(&dir);
	l = look_at(path);
	cr_assert(l.good == SERIES * profiles());
	cr_assert(!l.lost);
	cr_assert(!l.wrong);
	cr_expect(!l.signal);
	cr_expect(problems(path) == 0);
	mem_free(path);
	tempdir_fini(&dir);
}

Test(golden, directories_of_all_versions_are_read_completely)
{
	for (version = 1; version <= VERSIONS; version++)
		opens_whole();
}

/*
 * Checks that a database can be opened for writing, and takes a profile and
 * maintenance without losing anything.
 */
static void goes_on(void)
{
	struct tempdir dir = tempdir_make();
	char *path = copy_golden(&dir);
	struct metrics *m = metrics_new();
	struct clock clock = { 0 };
	struct tsdb_options o = { .path = path,
				  .metrics = m,
				  .clock = &clock,
				  .columns = columns(),
				  .sync_ms = 3600000,
				  .maintain_ms = -1 };
	struct tsdb *db = NULL;
	struct look l;

	clock_set(&clock, time_of(100));
	cr_assert(!tsdb_open(&o, &db, NULL));
	append(db, 0, 50);
	cr_expect(!tsdb_maintain(db, true, NULL));
	tsdb_close(db);
	l = look_at(path);
	cr_assert(l.good == SERIES * profiles());
	cr_expect(!l.signal);
	cr_expect(problems(path) == 0);
	metrics_free(m);
	mem_free(path);
	tempdir_fini(&dir);
}

Test(golden, server_continues_with_old_directories)
{
	for (version = 1; version <= VERSIONS; version++)
		goes_on();
}

static char *files[64];
static size_t file_count;

static int note_file(const char *path, const struct stat *st, int type,
		     struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	if (type == FTW_F && file_count < ARRAY_SIZE(files))
		files[file_count++] = mem_strdup(path);
	return 0;
}

static void rewrite(const char *path, struct bytes b)
{
	FILE *f = fopen(path, "wb");

	cr_assert(f != NULL);
	cr_assert(fwrite(b.ptr, 1, b.len, f) == b.len);
	fclose(f);
}

struct tally {
	long changes;
	long unsignalled; /* something is lost or wrong, and nothing told */
	long unverified;
};

static void judge(const char *data, const char *path, size_t at, bool is_cut,
		  struct tally *t)
{
	/*
	 * Nothing tells where an open log ends. A log that is cut may look like
	 * one that ended earlier.
	 */
	bool open_log = strstr(path, "/wal/") || strstr(path, "/groups");
	struct look l = look_at(data);

	t->changes++;
	if ((l.wrong || (l.lost && !(is_cut && open_log))) && !l.signal) {
		fprintf(stderr, "%s at %zu: %d lost, %d wrong, and no signal\n",
			path, at, l.lost, l.wrong);
		t->unsignalled++;
	}
	if (!problems(data)) {
		fprintf(stderr, "%s at %zu: verify is content\n", path, at);
		t->unverified++;
	}
}

static void damage_file(const char *data, const char *path, struct tally *t)
{
	bool all = getenv("EVERPROF_FLIPS") != NULL;
	struct buf b = { 0 };

	cr_assert(!file_slurp(path, &b, NULL));
	for (size_t i = 0; i < b.len; i++) {
		for (size_t bit = all ? 0 : i % 8; bit < (all ? 8 : i % 8 + 1);
		     bit++) {
			b.ptr[i] ^= (uint8_t)(1u << bit);
			rewrite(path, buf_bytes(&b));
			judge(data, path, i, false, t);
			b.ptr[i] ^= (uint8_t)(1u << bit);
		}
		rewrite(path, (struct bytes){ b.ptr, i });
		judge(data, path, i, true, t);
	}
	rewrite(path, buf_bytes(&b));
	buf_fini(&b);
}

static void notices_all(void)
{
	struct tempdir dir = tempdir_make();
	char *path = copy_golden(&dir);
	struct tally t = { 0 };

	file_count = 0;
	nftw(path, note_file, 8, FTW_PHYS);
	for (size_t i = 0; i < file_count; i++) {
		damage_file(path, files[i], &t);
		mem_free(files[i]);
	}
	printf("%ld changes of %zu files: %ld not told by reads, %ld not by verify\n",
	       t.changes, file_count, t.unsignalled, t.unverified);
	cr_assert(t.changes > 1000);
	cr_assert(!t.unsignalled);
	cr_expect(!t.unverified);
	mem_free(path);
	tempdir_fini(&dir);
}

Test(golden, every_bit_flip_and_truncation_is_detected)
{
	for (version = 1; version <= VERSIONS; version++)
		notices_all();
}
