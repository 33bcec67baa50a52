/* SPDX-License-Identifier: Apache-2.0 */
#include "query/merge/function_search.h"

#include "pprof/columns/columns_find.h"

/* Visitor: search a profile that is stored as columns. */
static void search_row(void *ctx, const struct codec_rows *rows, size_t row)
{
	struct function_search *f = ctx;

	f->rc = columns_find_row(f->find, rows, row, &f->found, &f->why);
}

/* Visitor: search a decoded profile. */
static void search_decoded(void *ctx, const struct pprof *p)
{
	struct function_search *f = ctx;

	f->rc = pprof_has_function(p, f->name, &f->limits, &f->found, &f->why);
}

/* Visitor: return the memory that the search takes. */
static size_t search_memory(const void *ctx)
{
	const struct function_search *f = ctx;

	return columns_find_memory(f->find);
}

int function_search_init(struct function_search *f, struct str pattern,
			 size_t memory, struct query_work *work,
			 struct err *err)
{
	const struct profile_visitor visitor = {
		.row = search_row,
		.decoded = search_decoded,
		.memory = search_memory,
		.ctx = f,
	};
	int rc;

	*f = (struct function_search){ 0 };
	rc = regex_new_search(pattern, &f->name, err);
	if (rc)
		return err_wrap(err, rc, "parameter \"function\"");
	f->limits = query_limits(work);
	f->find = columns_find_new(f->name, &f->limits);
	profile_visit_init(&f->visit, &visitor, memory, work);
	return 0;
}

void function_search_fini(struct function_search *f)
{
	columns_find_free(f->find);
	profile_visit_fini(&f->visit);
	regex_free(f->name);
}

int function_search_look(struct function_search *f, struct querier *q,
			 size_t series, int64_t ms, bool *found,
			 struct err *err)
{
	int rc;

	f->found = false;
	f->rc = 0;
	rc = profile_visit_show(&f->visit, q, series, ms, err);
	if (!rc && f->rc)
		rc = err_set(err, f->rc, "%s", f->why.msg);
	/* An answer that may lack profiles would not say so. */
	if (!rc)
		rc = regex_check_steps(f->name, "parameter \"function\"", err);
	*found = f->found;
	return rc;
}
