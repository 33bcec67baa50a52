/* SPDX-License-Identifier: Apache-2.0 */
#include "query/function_search.h"

#include "pprof/columns_find.h"
#include "query/work/bounded_decode.h"

int function_search_init(struct function_search *f, struct str pattern,
			 size_t memory, struct query_work *work,
			 struct err *err)
{
	int rc;

	*f = (struct function_search){ .work = work };
	rc = regex_new_search(pattern, &f->name, NULL, err);
	if (rc)
		return err_wrap(err, rc, "parameter \"function\"");
	f->find = columns_find_new(f->name);
	f->decoder = decoder_new(memory);
	return 0;
}

void function_search_fini(struct function_search *f)
{
	columns_find_free(f->find);
	querier_row_fini(&f->row);
	decoder_free(f->decoder);
	profile_fini(&f->fetched);
	regex_free(f->name);
}

/*
 * Take memory for the growth of all buffers since the last call. No memory is
 * returned to the budget here: when the query work ends, all of it is returned.
 */
static int search_account(struct function_search *f, const struct querier *q,
			  struct err *err)
{
	int64_t now = (int64_t)(columns_find_memory(f->find) +
				decoder_memory(f->decoder) +
				f->fetched.raw.cap + querier_memory(q));
	int64_t more = now - f->taken;

	if (more <= 0)
		return 0;
	f->taken = now;
	return query_take(f->work, more, err);
}

/*
 * Callback of the querier before it reads a profile. The bytes are added to
 * `taken`, so that search_account() does not take them a second time.
 */
static int search_spend(void *ctx, size_t bytes, struct err *err)
{
	struct function_search *f = ctx;
	int rc = query_take(f->work, (int64_t)bytes, err);

	if (!rc)
		f->taken += (int64_t)bytes;
	return rc;
}

/* Search a profile that is not stored as columns: fetch and decode it. */
static int look_inside(struct function_search *f, struct querier *q,
		       size_t series, int64_t ms, bool *found, struct err *err)
{
	struct pprof *p = NULL;
	int rc;

	querier_on_spend(q, search_spend, f);
	rc = querier_fetch(q, series, ms, &f->fetched, err);
	if (!rc)
		rc = bounded_decode(f->decoder, f->work->memory,
				    buf_bytes(&f->fetched.raw), &p, err);
	if (!rc)
		*found = pprof_has_function(p, f->name);
	return rc;
}

int function_search_look(struct function_search *f, struct querier *q,
			 size_t series, int64_t ms, bool *found,
			 struct err *err)
{
	static const bool no_values[TYPES_MAX];
	struct querier_row row;
	int rc = query_check_deadline(f->work, err);

	*found = false;
	if (rc)
		return rc;
	rc = querier_rows(q, series, ms, no_values, &row, err);
	if (!rc) {
		*found = columns_find_row(f->find, row.rows, row.row);
		/*
		 * f->find now refers to the table of the new row: keep that row
		 * instead of the previous one.
		 */
		querier_row_fini(&f->row);
		f->row = row;
	} else if (rc == ERR_UNSUPPORTED) {
		rc = look_inside(f, q, series, ms, found, err);
	}
	/* If one profile is unreadable, the search goes on with the others. */
	if (rc == ERR_CORRUPT || rc == ERR_NOTFOUND || rc == ERR_IO) {
		f->unread++;
		rc = 0;
	}
	return rc ? rc : search_account(f, q, err);
}
