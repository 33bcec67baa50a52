/* SPDX-License-Identifier: Apache-2.0 */
#include "query/merge/profile_adder.h"

#include "pprof/columns/columns_sum.h"
#include "query/merge/query_compare.h"
#include "query/select/bounded_decode.h"

size_t query_merge_kept(const struct query_merge *g)
{
	return merge_memory(g->merge) + columns_sum_memory(g->sum) +
	       (g->compare ? query_compare_memory(g->compare) : 0);
}

/*
 * This function only takes memory from the budget. release_inputs() returns
 * memory to the budget, once for the whole merge.
 */
int query_merge_account(struct query_merge *g, const struct querier *q,
			struct err *err)
{
	int64_t now =
		(int64_t)(query_merge_kept(g) + decoder_memory(g->decoder) +
			  g->fetched.raw.cap + (q ? querier_memory(q) : 0));
	int64_t more = now - g->taken;

	if (more <= 0)
		return 0;
	g->taken = now;
	return query_take(g->work, more, err);
}

/*
 * The bytes are added to g->taken, so that query_merge_account() does not take
 * them again after the buffer has grown.
 */
int query_merge_spend_fetch(void *ctx, size_t bytes, struct err *err)
{
	struct query_merge *g = ctx;
	int rc = query_take(g->work, (int64_t)bytes, err);

	if (!rc)
		g->taken += (int64_t)bytes;
	return rc;
}

/*
 * Find the sample type that is asked for in a profile that is the only one. If there are
 * several, query_merge_reduce() has found it already.
 */
static int profile_adder_project(struct query_merge *g, const struct pprof *p,
				 struct err *err)
{
	size_t at;
	int rc;

	if (!g->wanted.name.len || g->wanted.is_known)
		return 0;
	rc = pprof_type_index(p, g->wanted.name, &at, err);
	if (rc)
		return rc;
	wanted_type_set(&g->wanted, pprof_str(p, p->types.v[at].type));
	merge_project_name(g->merge, g->wanted.type);
	return 0;
}

/*
 * Merge a decoded profile. Before that, memory for the likely growth of the
 * merge is reserved: half the size of the profile, because most of its stacks
 * are already in the merge. Afterwards the reservation is replaced by the true
 * growth.
 */
static int merge_within(struct query_merge *g, const struct querier *q,
			const struct pprof *p, const enum merge_op *ops,
			struct err *err)
{
	int64_t most = (int64_t)pprof_memory(p) / 2;
	int rc = profile_adder_project(g, p, err);

	if (!rc)
		rc = budget_take(g->work->memory, most, err);
	if (rc)
		return rc;
	rc = merge_add(g->merge, p, ops, err);
	budget_give(g->work->memory, most);
	return rc ? rc : query_merge_account(g, q, err);
}

/*
 * Decide whether a profile that could not be read fails the query. A damaged,
 * unreadable or missing profile does not: it is counted, the first such error
 * is kept for the warning, and 0 is returned. Any other error is returned.
 */
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
 * Add a profile that is stored as columns, without decoding it. Such profiles
 * are collected in g->sum and merged later. Returns 1 when the profile is
 * unreadable and therefore left out. Returns ERR_UNSUPPORTED when the caller
 * must decode and merge the profile; the profiles in the sum have then been
 * merged, so that the order of profiles is kept (docs/decisions.md, 51).
 */
static int profile_adder_add_row(struct query_merge *g,
				 const struct query_profile *x, struct err *err)
{
	struct querier_row r;
	struct err why;
	int failed;
	int rc = querier_rows(x->q, x->series, x->ms, x->types, &r, &why);

	if (!rc)
		rc = columns_sum_add(g->sum, r.rows, r.row, x->ops, g->merge,
				     &why);
	/* The sum refers to the table of this profile: keep its row. */
	if (!rc) {
		querier_row_fini(&g->row);
		g->row = r;
		return query_merge_account(g, x->q, err);
	}
	querier_row_fini(&r);
	/*
	 * This profile is not in the sum. Merge the profiles that are, before
	 * any other profile is merged.
	 */
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
	/*
	 * x->ops is NULL if this is the only profile of the query. Such a
	 * profile is kept unchanged, which is possible only in decoded form.
	 */
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

int query_add_bytes(struct query_merge *g, struct bytes raw, struct err *err)
{
	struct pprof *p;
	int rc = bounded_decode(g->decoder, g->work->memory, raw, &p, err);

	if (!rc)
		rc = query_merge_account(g, NULL, err);
	return rc ? rc : merge_within(g, NULL, p, NULL, err);
}

/*
 * The deadline is an error only while no profile is merged. After that, the
 * query ends with a partial answer and a warning.
 */
int query_merge_check_late(struct query_merge *g, struct err *err)
{
	struct err why;
	int rc;

	if (g->late)
		return 0;
	rc = query_check_deadline(g->work, &why);
	if (!rc)
		return 0;
	if (!g->profiles)
		return err_set(err, rc, "%s", why.msg);
	g->late = true;
	g->late_why = why;
	return 0;
}
