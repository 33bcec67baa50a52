/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of the chunks of a series. The public function that querier_columns.c
 * defines is declared in tsdb/query/querier.h.
 */
#include <stdlib.h>

#include "tsdb/query/querier_private.h"

/* A walk over the chunks of a series. */
struct columns_walk {
	struct querier *q;
	const struct querier_columns_fns *fns;
	int64_t from;
	int64_t to;
	/* Where the table of the last chunk is; NULL: there was none. */
	const struct file *file;
	uint64_t offset;
	bool is_wanted;     /* the rows that have this table are */
	bool is_done;       /* no more rows are wanted */
	VEC(int64_t) times; /* of profiles that have a table */
	struct chunk_meta meta;
	/* An error of fns->take(), which is not about a chunk. */
	int failed;
	struct err why;
};

/* Note the times of the profiles of a chunk, and list its rows in the range. */
static size_t columns_walk_list(struct columns_walk *w,
				const struct chunks *groups,
				const struct chunk *g,
				uint16_t rows[CHUNK_PROFILES_MAX])
{
	size_t count = 0;

	for (uint16_t k = 0; k < w->meta.count; k++) {
		int64_t ms = w->meta.profiles[k].ms;

		if (ms < w->from || ms > w->to ||
		    chunks_hides(groups, g->at, ms))
			continue;
		*vec_add(&w->times) = ms;
		rows[count++] = k;
	}
	return count;
}

/* Ask whether the rows that have a table are wanted. */
static void columns_walk_ask(struct columns_walk *w, const struct file *file,
			     const struct codec_table *table)
{
	uint64_t offset = w->meta.place.table.offset;
	bool is_new = file != w->file || offset != w->offset;

	w->file = file;
	w->offset = offset;
	w->is_wanted = w->fns->wants(w->fns->ctx, table, is_new);
}

/* Pass on the rows of a chunk, unless it has no table. */
static int columns_walk_chunk(struct columns_walk *w, struct part p,
			      const struct chunks *groups,
			      const struct chunk *g, struct err *err)
{
	static const bool no_types[TYPES_MAX];
	struct chunk_source source = part_source(p);
	const struct codec_rows *rows;
	uint16_t which[CHUNK_PROFILES_MAX];
	struct table_ref *table = NULL;
	size_t count;
	int rc = chunk_read_meta(&source, g, &w->meta, NULL, err);

	if (rc || !w->meta.place.table.len)
		return rc;
	count = columns_walk_list(w, groups, g, which);
	if (!count)
		return 0;
	rc = values_table(&w->q->values, p, &w->meta, &table, err);
	if (rc || !table)
		return rc;
	columns_walk_ask(w, part_values(p, &w->meta), table->table);
	if (!w->is_wanted)
		return 0;
	rc = values_rows(&w->q->values, p, &w->meta, no_types, &rows, &table,
			 err);
	if (rc)
		return rc;
	rc = w->fns->take(w->fns->ctx, rows, which, count, &w->why);
	w->is_done = rc == 1;
	w->failed = rc < 0 ? rc : 0;
	return 0;
}

/* Pass on the rows of the chunks of a series in one part. */
static int columns_walk_part(struct columns_walk *w, const struct place *at,
			     struct err *err)
{
	struct part p = w->q->parts[at->part];
	struct growth_meter meter = { 0 };
	struct chunks groups = { 0 };
	int rc = part_groups(p, at->series, w->from, w->to, &groups, err);

	for (size_t i = 0; i < groups.count && !rc && !w->is_done; i++) {
		struct err why;

		rc = columns_walk_chunk(w, p, &groups, &groups.v[i], &why);
		/* Chunks of a codec that this build lacks are read by nobody. */
		if (rc == ERR_CORRUPT || rc == ERR_IO)
			querier_note_lost(w->q, 1, &why);
		else if (rc && rc != ERR_UNSUPPORTED)
			return err_set(err, rc, "%s", why.msg);
		rc = w->failed ? err_set(err, w->failed, "%s", w->why.msg) :
				 limits_meter(&w->q->limits, &meter,
					      LIMITS_WORK / 16, 0, err);
	}
	chunks_fini(&groups);
	return rc;
}

/* Order for qsort. */
static int columns_walk_by_time(const void *a, const void *b)
{
	const int64_t *x = a;
	const int64_t *y = b;

	return (*x > *y) - (*x < *y);
}

/* List the profiles of a series that have no table. */
static int columns_walk_others(struct columns_walk *w, size_t i,
			       struct err *err)
{
	struct times_view times = { 0 };
	size_t at = 0;
	int rc = querier_times(w->q, i, w->from, w->to, &times, err);

	if (rc)
		return rc;
	if (w->times.count)
		qsort(w->times.v, w->times.count, sizeof(*w->times.v),
		      columns_walk_by_time);
	for (size_t k = 0; k < times.count; k++) {
		while (at < w->times.count && w->times.v[at] < times.ms[k])
			at++;
		if (at == w->times.count || w->times.v[at] != times.ms[k])
			*vec_add(&w->q->others) = times.ms[k];
	}
	return 0;
}

/* NOLINTNEXTLINE(readability-function-size): what, when, and callbacks */
int querier_columns(struct querier *q, size_t i, int64_t from, int64_t to,
		    const struct querier_columns_fns *fns,
		    struct times_view *others, struct err *err)
{
	struct columns_walk w = { .q = q, .fns = fns, .from = from, .to = to };
	const struct place *at;
	int rc = 0;

	q->others.count = 0;
	for (uint32_t n = q->hits[i].first; n != NONE && !rc && !w.is_done;
	     n = at->next) {
		at = &q->places[n];
		rc = columns_walk_part(&w, at, err);
	}
	if (!rc && !w.is_done)
		rc = columns_walk_others(&w, i, err);
	vec_fini(&w.times);
	*others = (struct times_view){ q->others.v, q->others.count };
	return rc;
}
