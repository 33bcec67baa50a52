/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A WAL in a directory of its own, on a disk that refuses the calls that it is
 * told to refuse. A scene also has the profiles that a start reads from the
 * WAL.
 */
#ifndef TESTS_TSDB_WAL_SCENE_H
#define TESTS_TSDB_WAL_SCENE_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include "base/file_slurp.h"
#include "base/fs.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/tempdir.h"
#include "tests/tsdb/sample.h"
#include "tsdb/wal/wal_replay.h"
#include "tsdb/wal/wal_segment.h"
#include "tsdb/wal/wal_trim.h"

/* One bit for each kind of call. */
#define OP(op) (1u << (op))

/*
 * A disk that refuses calls of the kinds `refused` on paths with `part` in
 * them. The calls fail with `number`.
 */
struct disk {
	struct fs fs; /* first, so that calls can cast it to struct disk */
	unsigned refused;
	const char *part;
	int number;
	/* Reads are refused only if they touch these bytes. */
	uint64_t from;
	uint64_t to;
	long hits;
	long passes; /* so many calls are not refused */
};

/* A profile that a start has read. */
struct replayed {
	uint64_t lsn;
	uint32_t len;
	uint32_t raw_len;
	int64_t ms;
	uint64_t hash;
	bool whole; /* its texts are those of sample.h */
};

#define REPLAYED_MAX 256

struct wal_scene {
	struct appender a; /* first, so that calls can cast it back */
	struct disk disk;
	struct tempdir dir;
	char path[160]; /* of the log */
	struct metrics *metrics;
	struct metric *torn;
	struct metric *corruptions;
	struct metric *missing;
	struct metric *syncs;
	struct metric *sync_failures;
	struct wal_options o;
	struct wal *w;
	struct segment_entry last; /* the last entry appended, without texts */
	struct replayed v[REPLAYED_MAX];
	size_t count;
};

static inline int disk_before(struct fs *fs, const struct fs_call *call)
{
	struct disk *d = (struct disk *)fs;

	if (!(d->refused & OP(call->op)) || !strstr(call->path, d->part))
		return 0;
	if (call->op == FS_READ &&
	    (call->offset >= d->to || call->offset + call->len <= d->from))
		return 0;
	d->hits++;
	return d->hits > d->passes ? d->number : 0;
}

static inline void disk_after(struct fs *fs, const struct fs_call *call)
{
	(void)fs;
	(void)call;
}

static inline void refuse(struct wal_scene *s, unsigned ops, const char *part,
			  int number)
{
	s->disk.refused = ops;
	s->disk.part = part;
	s->disk.number = number;
	s->disk.from = 0;
	s->disk.to = UINT64_MAX;
	s->disk.hits = 0;
	s->disk.passes = 0;
}

static inline int scene_append(struct appender *a, const struct sample *sample,
			       uint64_t *lsn, struct err *err)
{
	struct wal_scene *s = (struct wal_scene *)a;
	struct segment_entry e = { 0 };
	int rc = wal_append(s->w, sample, &e, err);

	if (rc)
		return rc;
	s->last = e;
	s->last.labels = s->last.typeset = (struct bytes){ 0 };
	*lsn = e.lsn;
	return 0;
}

static inline void note_replayed(void *ctx, const struct segment_entry *e)
{
	struct wal_scene *s = ctx;
	struct labels *ls = sample_labels(0);

	cr_assert(s->count < REPLAYED_MAX);
	s->v[s->count++] = (struct replayed){
		.lsn = e->lsn,
		.len = e->len,
		.raw_len = e->raw_len,
		.ms = e->ms,
		.hash = e->hash,
		.whole = bytes_eq(e->labels, labels_bytes(ls)) &&
			 bytes_eq(e->typeset, sample_types(0)),
	};
	labels_unref(ls);
}

/* Open and replay the log; numbers of segments begin above floor. */
static inline int scene_open(struct wal_scene *s, uint64_t floor)
{
	struct err err = { .msg = "" };
	int rc = wal_open(&s->o, &s->w, &err);

	s->count = 0;
	if (!rc)
		cr_expect(!wal_replay(s->w, floor, note_replayed, s, &err));
	return rc;
}

static inline void scene_close(struct wal_scene *s)
{
	wal_close(s->w);
	s->w = NULL;
}

static inline void scene_reopen(struct wal_scene *s)
{
	scene_close(s);
	cr_assert(!scene_open(s, 0));
}

/* Make a scene whose log is not open yet. */
static inline struct wal_scene *scene_closed(void)
{
	struct wal_scene *s = mem_new(struct wal_scene);

	s->a.append = scene_append;
	s->disk.fs = (struct fs){ .before = disk_before, .after = disk_after };
	s->dir = tempdir_make();
	snprintf(s->path, sizeof(s->path), "%s/wal", s->dir.path);
	s->metrics = metrics_new();
	s->torn = metrics_counter(s->metrics, "torn", "", NULL);
	s->missing = metrics_counter(s->metrics,
				     "everprof_tsdb_wal_profiles_missing_total",
				     "", NULL);
	s->corruptions = metrics_counter(
		s->metrics, "everprof_tsdb_wal_corruptions_total", "", NULL);
	s->syncs = metrics_counter(s->metrics, "everprof_tsdb_wal_fsyncs_total",
				   "", NULL);
	s->sync_failures = metrics_counter(
		s->metrics, "everprof_tsdb_wal_fsync_failures_total", "", NULL);
	s->o = (struct wal_options){ .fs = &s->disk.fs,
				     .dir = s->path,
				     .segment_size = MIB,
				     .metrics = s->metrics,
				     .torn = s->torn };
	return s;
}

static inline struct wal_scene *scene_new(void)
{
	struct wal_scene *s = scene_closed();

	cr_assert(!scene_open(s, 0));
	return s;
}

static inline void scene_free(struct wal_scene *s)
{
	scene_close(s);
	metrics_free(s->metrics);
	tempdir_fini(&s->dir);
	mem_free(s);
}

/* Append profile k of series 0. Returns wal_append()'s code. */
static inline int add(struct wal_scene *s, int k)
{
	uint64_t lsn = 0;

	return sample_append(&s->a, 0, k, &lsn, NULL);
}

/* Append profiles [from, to), which must succeed. */
static inline void add_all(struct wal_scene *s, int from, int to)
{
	for (int k = from; k < to; k++)
		cr_expect(!add(s, k));
}

/* Continue in a new segment. */
static inline void begin_segment(struct wal_scene *s)
{
	cr_assert(!wal_retire(s->w, NULL));
}

/* Path of a segment's file with a suffix; valid until the next call. */
static inline const char *segment_file(struct wal_scene *s, int number,
				       const char *suffix)
{
	static char path[200];

	snprintf(path, sizeof(path), "%s/%08d%s", s->path, number, suffix);
	return path;
}

/* Size of a segment's file, -1 without one. */
static inline int64_t segment_bytes(struct wal_scene *s, int number)
{
	struct stat st;

	return stat(segment_file(s, number, ""), &st) ? -1 : st.st_size;
}

static inline void write_file(const char *path, struct bytes b)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	cr_assert(fd >= 0);
	cr_assert(write(fd, b.ptr, b.len) == (ssize_t)b.len);
	close(fd);
}

/* Flip all bits of one byte of a segment. */
static inline void damage(struct wal_scene *s, int number, uint64_t offset)
{
	int fd = open(segment_file(s, number, ""), O_RDWR);
	uint8_t byte = 0;

	cr_assert(fd >= 0);
	cr_assert(pread(fd, &byte, 1, (off_t)offset) == 1);
	byte ^= 0xff;
	cr_assert(pwrite(fd, &byte, 1, (off_t)offset) == 1);
	close(fd);
}

/* Remove what says which profiles the log has. */
static inline void forget_numbers(struct wal_scene *s)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/numbers", s->path);

	cr_assert(!unlink(path));
}

/*
 * Close the log as a crash would: the segment keeps the bytes that it had
 * before, without a directory, and what was noted stays.
 */
static inline void scene_crash(struct wal_scene *s, int number)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/numbers", s->path);
	struct buf bytes = { 0 };
	struct buf noted = { 0 };
	bool is_noted = !file_slurp(path, &noted, NULL);

	cr_assert(!file_slurp(segment_file(s, number, ""), &bytes, NULL));
	scene_close(s);
	if (is_noted)
		write_file(path, buf_bytes(&noted));
	else
		forget_numbers(s);
	write_file(segment_file(s, number, ""), buf_bytes(&bytes));
	buf_fini(&bytes);
	buf_fini(&noted);
}

/* Whether a start has read profiles [from, to), in order and as they were. */
static inline bool has_read(struct wal_scene *s, int from, int to)
{
	struct buf b = { 0 };
	bool same = s->count == (size_t)(to - from);

	for (int k = from; k < to && same; k++) {
		struct replayed *r = &s->v[k - from];

		sample_bytes(0, k, &b);
		same = r->whole && r->ms == sample_ms(k) &&
		       r->raw_len == b.len &&
		       r->hash == hash_bytes(buf_bytes(&b));
	}
	buf_fini(&b);
	return same;
}

#endif
