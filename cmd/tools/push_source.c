/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/tools/push_source.h"

#include "base/mem.h"
#include "cmd/cli/database.h"
#include "cmd/tools/source_passes.h"
#include "tsdb/maintain/stats.h"
#include "tsdb/query/querier.h"
#include "tsdb/tools/inspect.h"

/* Length of a step of a data directory: that of its smallest blocks, in ms. */
#define STEP_MS (2LL * 3600 * 1000)

/* The argument of the callbacks of a walk over files. */
struct files_walk {
	const struct push_visitor *v;
};

/* pass_visitor.begin */
static void files_begin(void *ctx, int64_t ms)
{
	const struct push_visitor *v = ((struct files_walk *)ctx)->v;

	v->begin(v->ctx, ms);
}

/* pass_visitor.visit: errors of a single file do not end the walk. */
static int files_visit(void *ctx, const struct source_item *item,
		       struct err *err)
{
	const struct push_visitor *v = ((struct files_walk *)ctx)->v;
	struct sample s;
	int rc;

	if (item->ms >= 0 && (item->ms < v->from || item->ms > v->to))
		return 0;
	rc = sample_make(v->maker, item, &s, err);
	if (rc) {
		(void)err_wrap(err, rc, "%s", item->path);
		v->bad(v->ctx, err);
		return 0;
	}
	if (s.ms >= v->from && s.ms <= v->to)
		rc = v->visit(v->ctx, &s, err);
	labels_unref(s.labels);
	return rc;
}

/* pass_visitor.end */
static int files_end(void *ctx, struct err *err)
{
	const struct push_visitor *v = ((struct files_walk *)ctx)->v;

	return v->end(v->ctx, err);
}

/* pass_visitor.unreadable */
static void files_bad(void *ctx, const struct err *err)
{
	const struct push_visitor *v = ((struct files_walk *)ctx)->v;

	v->bad(v->ctx, err);
}

/* Visit one profile of a data directory. */
static int database_visit(const struct push_visitor *v, struct querier *q,
			  size_t i, int64_t ms, struct labels *labels,
			  struct err *err)
{
	struct profile p = { 0 };
	int rc = querier_fetch(q, i, ms, &p, err);
	const struct sample s = { .labels = labels,
				  .ms = ms,
				  .encoding = BODY_PLAIN,
				  .body = buf_bytes(&p.raw),
				  .raw_len = (uint32_t)p.raw.len,
				  .hash = p.hash };

	if (!rc) {
		rc = v->visit(v->ctx, &s, err);
	} else if (rc == ERR_CORRUPT || rc == ERR_NOTFOUND || rc == ERR_IO) {
		v->bad(v->ctx, err);
		rc = 0;
	}
	profile_fini(&p);
	return rc;
}

/* The labels of a series with those of --labels. */
static int labels_to_send(const struct sample_maker *m, struct labels *stored,
			  struct labels **out, struct err *err)
{
	struct labels_builder b = { 0 };
	int rc;

	labels_set_all(&b, stored);
	sample_maker_set_labels(m, &b);
	rc = labels_build(&b, out, err);
	labels_builder_fini(&b);
	return rc;
}

/* Visit the profiles of a series in [from, to]. */
static int database_visit_series(const struct push_visitor *v,
				 struct querier *q, size_t i, int64_t from,
				 int64_t to, struct err *err)
{
	struct times_view t = { 0 };
	struct labels *labels = NULL;
	int64_t *ms;
	int rc = querier_times(q, i, from, to, &t, err);

	if (!rc && t.count)
		rc = labels_to_send(v->maker, querier_labels(q, i), &labels,
				    err);
	if (rc)
		v->bad(v->ctx, err); /* the other series are sent */
	if (rc || !t.count)
		return 0;
	/* Fetching may reuse the memory that `t` points to. */
	ms = mem_dup(t.ms, t.count * sizeof(*ms));
	for (size_t k = 0; k < t.count && !rc; k++)
		rc = database_visit(v, q, i, ms[k], labels, err);
	mem_free(ms);
	labels_unref(labels);
	return rc;
}

/* Visit the profiles of all series in [from, to]. */
static int database_step(const struct push_visitor *v, struct tsdb *db,
			 int64_t from, int64_t to, struct err *err)
{
	struct querier *q = NULL;
	int rc;

	querier_open(db, NULL, &q);
	querier_sequential(q);
	rc = querier_select(q, NULL, 0, from, to, err);
	for (size_t i = 0; i < querier_count(q) && !rc; i++)
		rc = database_visit_series(v, q, i, from, to, err);
	if (!rc && querier_lost(q))
		v->bad(v->ctx, querier_lost(q));
	querier_close(q);
	return rc ? rc : v->end(v->ctx, err);
}

/* Visit the profiles of a data directory. */
static int database_walk(const char *path, const struct push_visitor *v,
			 struct err *err)
{
	struct tsdb_stats stats = { 0 };
	struct database d;
	int rc = database_open(&d, path, true, err);

	if (!rc)
		tsdb_stats(d.db, &stats);
	for (int64_t at = stats.min_ms / STEP_MS * STEP_MS;
	     !rc && at < stats.max_ms; at += STEP_MS) {
		int64_t from = at > v->from ? at : v->from;
		int64_t to = at + STEP_MS - 1 < v->to ? at + STEP_MS - 1 :
							v->to;

		if (at < v->skip_before || from > to)
			continue;
		v->begin(v->ctx, at);
		rc = database_step(v, d.db, from, to, err);
	}
	database_close(&d);
	return rc;
}

int push_source_walk(const char *path, const struct push_visitor *v,
		     struct err *err)
{
	struct files_walk walk = { v };
	const struct pass_visitor files = { .skip_before = v->skip_before,
					    .begin = files_begin,
					    .visit = files_visit,
					    .end = files_end,
					    .unreadable = files_bad,
					    .ctx = &walk };

	return tsdb_is_dir(path) ? database_walk(path, v, err) :
				   source_walk_passes(path, &files, err);
}
