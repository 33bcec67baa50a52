/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of the chunks of a series. The public function that querier_tables.c
 * defines is declared in tsdb/query/querier.h.
 */
#include "tsdb/query/querier_private.h"

/* A walk over the tables of a series. */
struct tables_walk {
	struct querier *q;
	querier_table_fn fn;
	void *ctx;
	const struct table_ref *last; /* the table that was passed on */
	/* The spans of time whose profiles have a table. */
	VEC(struct times_span) covered;
	struct chunk_meta meta;
};

/* Pass on the table of a chunk, unless it has none. */
static int tables_walk_chunk(struct tables_walk *w, struct part p,
			     const struct chunk *g, struct err *err)
{
	struct chunk_source source = part_source(p);
	struct table_ref *table = NULL;
	int rc = chunk_read_meta(&source, g, &w->meta, NULL, err);

	if (rc || !w->meta.place.table.len)
		return rc;
	rc = values_table(&w->q->values, p, &w->meta, &table, err);
	if (rc || !table)
		return rc;
	*vec_add(&w->covered) = (struct times_span){ g->first, g->last };
	if (table == w->last)
		return 0;
	w->last = table;
	return w->fn(w->ctx, table->table, err);
}

/* Pass on the tables of a series in one part. */
static int tables_walk_part(struct tables_walk *w, const struct place *at,
			    int64_t from, int64_t to, struct err *err)
{
	struct part p = w->q->parts[at->part];
	struct chunks groups = { 0 };
	int rc = part_groups(p, at->series, from, to, &groups, err);

	for (size_t i = 0; i < groups.count && !rc; i++) {
		struct err why;

		rc = tables_walk_chunk(w, p, &groups.v[i], &why);
		if (rc == ERR_CORRUPT || rc == ERR_IO) {
			querier_note_lost(w->q, 1, &why);
			rc = 0;
		} else if (rc == ERR_UNSUPPORTED) {
			rc = 0;
		} else if (rc) {
			rc = err_set(err, rc, "%s", why.msg);
		}
	}
	chunks_fini(&groups);
	return rc;
}

/* Whether a profile is in a chunk whose table was passed on. */
static bool tables_walk_has(const struct tables_walk *w, int64_t ms)
{
	for (size_t i = 0; i < w->covered.count; i++) {
		if (ms >= w->covered.v[i].first && ms <= w->covered.v[i].last)
			return true;
	}
	return false;
}

/* NOLINTNEXTLINE(readability-function-size): what, when, and a callback */
int querier_tables(struct querier *q, size_t i, int64_t from, int64_t to,
		   querier_table_fn fn, void *ctx, struct times_view *others,
		   struct err *err)
{
	struct tables_walk w = { .q = q, .fn = fn, .ctx = ctx };
	struct times_view times = { 0 };
	const struct place *at;
	int rc = 0;

	q->others.count = 0;
	for (uint32_t n = q->hits[i].first; n != NONE && !rc; n = at->next) {
		at = &q->places[n];
		rc = tables_walk_part(&w, at, from, to, err);
	}
	if (!rc)
		rc = querier_times(q, i, from, to, &times, err);
	for (size_t k = 0; k < times.count && !rc; k++) {
		if (!tables_walk_has(&w, times.ms[k]))
			*vec_add(&q->others) = times.ms[k];
	}
	vec_fini(&w.covered);
	*others = (struct times_view){ q->others.v, q->others.count };
	return rc;
}
