/* SPDX-License-Identifier: Apache-2.0 */
#include "pyroscope/answer/call.h"

#include "base/wire_write.h"
#include "query/merge/query_merge.h"
#include "tsdb/open/tsdb.h"

/* Implement sample_label_test.may_have. */
static bool call_may_have(void *db, struct str name)
{
	return tsdb_samples_may_have(db, name);
}

struct sample_label_test call_sample_labels(const struct pyroscope_call *c)
{
	return (struct sample_label_test){ call_may_have, c->db };
}

void call_range(const struct pyroscope_call *c, int64_t *from, int64_t *to)
{
	bool is_all = !c->request.start && !c->request.end;

	*from = is_all ? INT64_MIN : c->request.start;
	*to = is_all ? INT64_MAX : c->request.end;
}

int call_select(struct pyroscope_call *c, struct profile_query *query,
		int64_t from, int64_t to, struct querier **q, struct err *err)
{
	const struct query_spec spec = { .any = query->any,
					 .any_count = query->any_count,
					 .keep = profile_query_keep,
					 .keep_ctx = query,
					 .from = from,
					 .to = to };
	int rc;

	query_open(c->work, c->db, q);
	if (query->is_empty)
		return 0;
	rc = query_spec_select(&spec, *q, err);
	return rc ? rc : query_take(c->work, (int64_t)querier_memory(*q), err);
}

/* A walk over the series of a query. */
struct call_walking {
	struct profile_query *query;
	querier_walk_fn fn;
	void *ctx;
};

/* Pass on a series that the predicate of the query keeps. */
static int call_walk_one(void *ctx, const struct labels *ls, struct err *err)
{
	const struct call_walking *w = ctx;

	return query_is_no_beat(ls) && profile_query_keep(w->query, ls) ?
		       w->fn(w->ctx, ls, err) :
		       0;
}

/* NOLINTNEXTLINE(readability-function-size): what, when, and a callback */
int call_walk(struct querier *q, struct profile_query *query, int64_t from,
	      int64_t to, querier_walk_fn fn, void *ctx, struct err *err)
{
	struct call_walking w = { query, fn, ctx };

	return querier_walk(q, query->any,
			    query->is_empty ? 0 : query->any_count, from, to,
			    call_walk_one, &w, err);
}

void call_write_label(struct buf *out, uint32_t number, struct str name,
		      struct str value)
{
	struct buf pair = { 0 };

	wire_write_str(&pair, 1, name);
	wire_write_str(&pair, 2, value);
	wire_write_bytes(out, number, buf_bytes(&pair));
	buf_fini(&pair);
}

void call_note_lost(struct pyroscope_call *c, const struct querier *q)
{
	const struct err *lost = querier_lost(q);

	if (lost && !c->warning)
		c->warning = arena_printf(
			c->arena,
			"some stored data could not be read and is left out; the first error: %s",
			lost->msg);
}
