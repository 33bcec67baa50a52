/* SPDX-License-Identifier: Apache-2.0 */
#include "query/merge/profile_adder.h"

#include "pprof/columns_sum.h"
#include "query/work/bounded_decode.h"

int query_merge_account(struct query_merge *g, const struct querier *q,
			struct err *err)
{
	int64_t now =
		(int64_t)(merge_memory(g->merge) + columns_sum_memory(g->sum) +
			  decoder_memory(g->decoder) + g->fetched.raw.cap +
			  querier_memory(q));
	int64_t more = now - g->taken;

	if (more <= 0)
		return 0;
	g->taken = now;
	return query_take(g->work, more, err);
}

int query_merge_spend_fetch(void *ctx, size_t bytes, struct err *err)
{
	struct query_merge *g = ctx;
	int rc = query_take(g->work, (int64_t)bytes, err);

	if (!rc)
		g->taken += (int64_t)bytes;
	return rc;
}

/*
 * Merge a profile. What the merge will probably grow by at most is reserved
 * while it does: half of what the profile takes, for stacks repeat.
 */
static int merge_within(struct query_merge *g, const struct querier *q,
			const struct pprof *p, const enum merge_op *ops,
			struct err *err)
{
	int64_t most = (int64_t)pprof_memory(p) / 2;
	int rc = budget_take(g->work->memory, most, err);

	if (rc)
		return rc;
	rc = merge_add(g->merge, p, ops, err);
	budget_give(g->work->memory, most);
	return rc ? rc : query_merge_account(g, q, err);
}

/* What one damaged profile leaves out is told, not fatal. */
static int query_merge_leave_out(struct query_merge *g, int rc,
				 const struct err *why, struct err *err)
{
	if (rc != ERR_CORRUPT && rc != ERR_NOTFOUND && rc != ERR_IO)
		return err_set(err, rc, "%s", why->msg);
	if (!g->damaged++)
		g->damage = *why;
	return 0;
}

/*
 * A profile added up as it is stored. ERR_UNSUPPORTED: it has to be read as a
 * profile; what was added up is then merged first.
 */
static int profile_adder_add_row(struct query_merge *g,
				 const struct query_profile *x, struct err *err)
{
	struct querier_row r = { 0 };
	struct err why;
	int failed;
	int rc = querier_rows(x->q, x->series, x->ms, x->types, &r, &why);

	if (!rc)
		rc = columns_sum_add(g->sum, r.rows, r.row, x->ops, g->merge,
				     &why);
	if (!rc)
		return query_merge_account(g, x->q, err);
	/* Before the next call, with which the sum's table may go. */
	failed = columns_sum_flush(g->sum, g->merge, err);
	if (failed || rc == ERR_UNSUPPORTED)
		return failed ? failed : rc;
	rc = query_merge_leave_out(g, rc, &why, err);
	return rc ? rc : 1;
}

int query_add_profile(struct query_merge *g, const struct query_profile *x,
		      struct err *err)
{
	struct pprof *p;
	struct err why;
	int rc = x->ops ? profile_adder_add_row(g, x, err) : ERR_UNSUPPORTED;

	if (rc != ERR_UNSUPPORTED)
		return rc;
	rc = querier_fetch(x->q, x->series, x->ms, &g->fetched, &why);

	if (rc) {
		rc = query_merge_leave_out(g, rc, &why, err);
		return rc ? rc : 1;
	}
	rc = bounded_decode(g->decoder, g->work->memory,
			    buf_bytes(&g->fetched.raw), &p, err);
	if (!rc)
		rc = query_merge_account(g, x->q, err);
	return rc ? rc : merge_within(g, x->q, p, x->ops, err);
}

int query_merge_check_late(struct query_merge *g, struct err *err)
{
	g->late = g->late ||
		  (query_check_deadline(g->work, NULL) && g->profiles);
	return g->late ? 0 : query_check_deadline(g->work, err);
}
