/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A head and its WAL. These functions do the work of the database's threads:
 * they insert and flush profiles, and open the files of the head again.
 */
#ifndef TESTS_TSDB_HEAD_SCENE_H
#define TESTS_TSDB_HEAD_SCENE_H

#include <inttypes.h>

#include "tests/tsdb/wal_scene.h"
#include "tsdb/head/flush.h"
#include "tsdb/head/head_open.h"
#include "tsdb/head/head_tombstones.h"
#include "tsdb/head/window.h"

#define OPENED_LSN 77

struct head_scene {
	struct wal_scene *w;
	char dir[160];
	char name[64]; /* of the head's directory */
	struct head_env env;
	struct metric *damaged;
	struct flusher *flusher;
	struct head *r;
};

static inline struct head_scene *head_scene_closed(void)
{
	struct head_scene *s = mem_new(struct head_scene);

	s->w = scene_new();
	snprintf(s->dir, sizeof(s->dir), "%s/ranges", s->w->dir.path);
	cr_assert(!mkdir(s->dir, 0700));
	s->env = (struct head_env){ .fs = &s->w->disk.fs,
				    .dir = s->dir,
				    .interner = interner_new(),
				    .corruptions = s->w->corruptions,
				    .torn = s->w->torn };
	s->damaged = metrics_counter(s->w->metrics, "damaged", "", NULL);
	s->flusher = flusher_new(s->w->w, NULL, s->w->metrics, s->damaged);
	return s;
}

/* Creates a head of the window of profile 0, whose first LSN is `lsn`. */
static inline int create_at(struct head_scene *s, uint64_t lsn)
{
	int64_t start = window_start(sample_ms(0));

	snprintf(s->name, sizeof(s->name), "%" PRId64 ".%016" PRIx64, start,
		 lsn);
	return head_create(&s->env, start, lsn, 5, &s->r, NULL);
}

static inline int create(struct head_scene *s)
{
	return create_at(s, OPENED_LSN);
}

static inline struct head_scene *head_scene_new(void)
{
	struct head_scene *s = head_scene_closed();

	cr_assert(!create(s));
	return s;
}

static inline void head_scene_free(struct head_scene *s)
{
	head_unref(s->r);
	cr_assert(s->env.weight == 0);
	cr_expect(s->env.unflushed == 0);
	cr_expect(interner_count(s->env.interner) == 0);
	interner_free(s->env.interner);
	flusher_free(s->flusher);
	scene_free(s->w);
	mem_free(s);
}

/*
 * Opens the head's files again. Profiles that were not flushed are then in the
 * WAL only.
 */
static inline int open_head(struct head_scene *s)
{
	head_unref(s->r);
	s->r = NULL;
	return head_open(&s->env, s->name, &s->r, NULL);
}

/* Append profile k of a series and insert it. */
static inline uint64_t insert(struct head_scene *s, int series, int k)
{
	struct labels *ls = sample_labels(series);
	const struct segment_entry *e = &s->w->last;
	uint64_t lsn = 0;

	cr_assert(!sample_append(&s->w->a, series, k, &lsn, NULL));
	head_insert(s->r, ls,
		    &(struct unflushed){ .ms = e->ms,
					 .lsn = e->lsn,
					 .hash = e->hash,
					 .raw_len = e->raw_len,
					 .len = e->len },
		    9);
	labels_unref(ls);
	return lsn;
}

static inline void insert_all(struct head_scene *s, int series, int from,
			      int to)
{
	for (int k = from; k < to; k++)
		insert(s, series, k);
}

static inline int flush_all(struct head_scene *s)
{
	return flush_range(s->flusher, s->r, UINT64_MAX, UINT64_MAX, NULL);
}

#endif
