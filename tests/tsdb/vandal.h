/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random damage to the files of a data directory: removed, cut, emptied, grown,
 * overwritten, exchanged with one another, replaced by directories.
 */
#ifndef TESTS_TSDB_VANDAL_H
#define TESTS_TSDB_VANDAL_H

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>

#include "tests/tsdb/mishap.h"

struct vandal {
	uint64_t rng;
	char *files[512];
	size_t count;
	char last[512]; /* what was done last, for messages */
};

static inline unsigned vandal_roll(struct vandal *v, unsigned sides)
{
	v->rng = v->rng * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(v->rng >> 33) % sides;
}

static struct vandal *vandal_walking;

static inline int vandal_visit(const char *path, const struct stat *st,
			       int type, struct FTW *ftw)
{
	struct vandal *v = vandal_walking;

	(void)st;
	(void)ftw;
	if (type == FTW_F && v->count < ARRAY_SIZE(v->files) &&
	    !strstr(path, "/ballast") && !strstr(path, "/lock"))
		v->files[v->count++] = mem_strdup(path);
	return 0;
}

static inline void vandal_forget(struct vandal *v)
{
	while (v->count)
		mem_free(v->files[--v->count]);
}

static inline const char *vandal_pick(struct vandal *v, const char *dir)
{
	vandal_forget(v);
	vandal_walking = v;
	nftw(dir, vandal_visit, 16, FTW_PHYS);
	return v->count ? v->files[vandal_roll(v, (unsigned)v->count)] : NULL;
}

static inline void vandal_write(struct vandal *v, const char *path, size_t len,
				bool zeros)
{
	uint8_t bytes[4096] = { 0 };
	struct stat st;
	int fd = open(path, O_RDWR);

	if (fd < 0)
		return;
	for (size_t i = 0; i < len && !zeros; i++)
		bytes[i] = (uint8_t)vandal_roll(v, 256);
	if (!fstat(fd, &st) && st.st_size)
		(void)!pwrite(fd, bytes, len,
			      vandal_roll(v, (unsigned)st.st_size));
	close(fd);
}

/* Remove the directory that holds a file, with all that is in it. */
static inline void vandal_remove_dir(const char *path, const char *top)
{
	char *dir = mem_strdup(path);

	*strrchr(dir, '/') = 0;
	if (strlen(dir) > strlen(top))
		tempdir_clear(dir);
	mem_free(dir);
}

static inline void vandal_swap(struct vandal *v, const char *a)
{
	const char *b = v->files[vandal_roll(v, (unsigned)v->count)];
	CLEANUP(mem_freep) char *tmp = mem_printf("%s.swap", a);

	if (a != b && !rename(a, tmp)) {
		(void)!rename(b, a);
		(void)!rename(tmp, b);
	}
}

/* Damages a random file. Returns false if there is no file. */
static inline bool vandal_strike(struct vandal *v, const char *top)
{
	const char *path = vandal_pick(v, top);
	unsigned what = vandal_roll(v, 10);
	struct stat st;

	if (!path)
		return false;
	snprintf(v->last, sizeof(v->last), "%u %s", what, path);
	switch (what) {
	case 0:
		unlink(path);
		break;
	case 1:
		if (!stat(path, &st) && st.st_size)
			(void)!truncate(path,
					vandal_roll(v, (unsigned)st.st_size));
		break;
	case 2:
		(void)!truncate(path, 0);
		break;
	case 3:
		unlink(path);
		mkdir(path, 0700);
		break;
	case 4:
		vandal_swap(v, path);
		break;
	case 5:
		vandal_remove_dir(path, top);
		break;
	case 6:
		vandal_write(v, path, 4096, true);
		break;
	case 7:
		if (!stat(path, &st))
			(void)!truncate(path,
					st.st_size + 1 + vandal_roll(v, 9999));
		break;
	default:
		vandal_write(v, path, 1 + vandal_roll(v, 16), false);
		break;
	}
	return true;
}

/*
 * Returns whether a suite goes on. It runs for EVERPROF_SECONDS seconds, or for
 * `rounds` rounds if that variable is not set.
 */
static inline bool vandal_goes_on(int round, int rounds, int64_t began_ns)
{
	const char *seconds = getenv("EVERPROF_SECONDS");

	if (!seconds)
		return round < rounds;
	return clock_mono_ns() - began_ns <
	       strtoll(seconds, NULL, 10) * 1000000000;
}

static inline uint64_t vandal_seed(void)
{
	const char *text = getenv("EVERPROF_SEED");

	return text ? strtoull(text, NULL, 10) : 1;
}

/*
 * Which profiles of series 0 … VANDAL_SERIES - 1 can be read, and whether all
 * of them have the bytes that went in.
 */
#define VANDAL_SERIES 4
#define VANDAL_TIMES  2048

struct vandal_look {
	bool there[VANDAL_SERIES][VANDAL_TIMES];
	size_t count;
	size_t wrong;
};

static inline void vandal_look_at(struct tsdb *db, struct vandal_look *l)
{
	struct profile p = { 0 };
	struct buf want = { 0 };
	struct querier *q;

	memset(l, 0, sizeof(*l));
	querier_open(db, NULL, &q);
	cr_assert(!querier_select(q, NULL, 0, INT64_MIN, INT64_MAX, NULL));
	for (size_t i = 0; i < querier_count(q); i++) {
		struct str pod =
			labels_get(querier_labels(q, i), str_of("pod"));
		int series = pod.len == 5 ? pod.ptr[4] - '0' : -1;
		struct times_view t = { 0 };
		int64_t *ms;

		if (series < 0 || series >= VANDAL_SERIES ||
		    querier_times(q, i, INT64_MIN, INT64_MAX, &t, NULL))
			continue;
		ms = mem_dup(t.ms, t.count * sizeof(*ms));
		for (size_t n = 0; n < t.count; n++) {
			int64_t k = (ms[n] - SAMPLE_START) / SAMPLE_STEP;

			if (k < 0 || k >= VANDAL_TIMES ||
			    querier_fetch(q, i, ms[n], &p, NULL))
				continue;
			sample_bytes(series, (int)k, &want);
			if (!bytes_eq(buf_bytes(&want), buf_bytes(&p.raw)))
				l->wrong++;
			l->count += !l->there[series][k];
			l->there[series][k] = true;
		}
		mem_free(ms);
	}
	querier_close(q);
	profile_fini(&p);
	buf_fini(&want);
}

/* Returns how many profiles of a are not in b. */
static inline size_t vandal_missing(const struct vandal_look *a,
				    const struct vandal_look *b)
{
	size_t n = 0;

	for (size_t i = 0; i < VANDAL_SERIES; i++) {
		for (size_t k = 0; k < VANDAL_TIMES; k++)
			n += a->there[i][k] && !b->there[i][k];
	}
	return n;
}

#endif
