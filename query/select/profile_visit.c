/* SPDX-License-Identifier: Apache-2.0 */
#include "query/select/profile_visit.h"

#include "query/select/bounded_decode.h"

void profile_visit_init(struct profile_visit *v,
			const struct profile_visitor *visitor, size_t memory,
			struct query_work *work)
{
	*v = (struct profile_visit){
		.work = work,
		.visitor = *visitor,
		.decoder = decoder_new(memory),
	};
}

void profile_visit_fini(struct profile_visit *v)
{
	querier_row_fini(&v->row);
	decoder_free(v->decoder);
	profile_fini(&v->fetched);
}

/*
 * Take memory for the growth of all buffers since the last call. No memory is
 * returned to the budget here: when the query work ends, all of it is returned.
 */
static int visit_account(struct profile_visit *v, const struct querier *q,
			 struct err *err)
{
	const struct profile_visitor *x = &v->visitor;
	int64_t now = (int64_t)((x->memory ? x->memory(x->ctx) : 0) +
				decoder_memory(v->decoder) +
				v->fetched.raw.cap + querier_memory(q));
	int64_t more = now - v->taken;

	if (more <= 0)
		return 0;
	v->taken = now;
	return query_take(v->work, more, err);
}

/*
 * Callback that the querier calls before it reads a profile. The bytes are
 * added to `taken`, so that visit_account() does not take them a second time.
 */
static int visit_spend(void *ctx, size_t bytes, struct err *err)
{
	struct profile_visit *v = ctx;
	int rc = query_take(v->work, (int64_t)bytes, err);

	if (!rc)
		v->taken += (int64_t)bytes;
	return rc;
}

/* Show a profile that is not stored as columns. */
static int visit_decoded(struct profile_visit *v, struct querier *q,
			 size_t series, int64_t ms, struct err *err)
{
	struct pprof *p = NULL;
	int rc;

	querier_on_spend(q, visit_spend, v);
	rc = querier_fetch(q, series, ms, &v->fetched, err);
	if (!rc)
		rc = bounded_decode(v->decoder, v->work->memory,
				    buf_bytes(&v->fetched.raw), &p, err);
	if (!rc)
		v->visitor.decoded(v->visitor.ctx, p);
	return rc;
}

int profile_visit_show(struct profile_visit *v, struct querier *q,
		       size_t series, int64_t ms, struct err *err)
{
	static const bool no_values[TYPES_MAX];
	struct querier_row row;
	int rc = query_check_deadline(v->work, err);

	if (rc)
		return rc;
	rc = querier_rows(q, series, ms, no_values, &row, err);
	if (!rc) {
		v->visitor.row(v->visitor.ctx, row.rows, row.row);
		/*
		 * Keep this row, because the visitor may still refer to its
		 * table. The row before it is not needed any more.
		 */
		querier_row_fini(&v->row);
		v->row = row;
	} else if (rc == ERR_UNSUPPORTED) {
		rc = visit_decoded(v, q, series, ms, err);
	}
	/* If one profile is unreadable, the visit goes on with the others. */
	if (rc == ERR_CORRUPT || rc == ERR_NOTFOUND || rc == ERR_IO) {
		v->unread++;
		rc = 0;
	}
	return rc ? rc : visit_account(v, q, err);
}
