/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One question about the series of a store (tests/query/store.h), and its
 * answer: the profiles of a series, aggregated into one merge.
 */
#ifndef TESTS_QUERY_QUESTION_H
#define TESTS_QUERY_QUESTION_H

#include "query/merge/row_run.h"
#include "tests/query/store.h"

#define QUESTION_MEMORY ((int64_t)64 << 20)

/* A query of one series, and its result. */
struct question {
	struct query_merge_options o;
	struct budget memory;
	struct query_work work;
	struct query_merge merge;
	struct querier *q;
	int rc;
	struct err err;
};

/*
 * Prepares a question. A caller that wants other options sets the fields of
 * a->o before.
 */
static inline void question_open(struct question *a, struct store *s)
{
	if (!a->memory.max)
		a->memory.max = QUESTION_MEMORY;
	a->memory.name = "query.memory";
	a->work.memory = &a->memory;
	if (!a->work.deadline_ns)
		a->work.deadline_ns = INT64_MAX;
	query_merge_init(&a->merge, s->db, &a->work, &a->o);
	querier_open(s->db, NULL, &a->q);
	cr_assert(!querier_select(a->q, NULL, 0, INT64_MIN, INT64_MAX, NULL));
}

static inline void question_ask(struct question *a, size_t series, int64_t from,
				int64_t to)
{
	const struct query_spec side = { .from = from, .to = to };

	cr_assert(querier_count(a->q) > series);
	a->err.msg[0] = 0;
	a->rc = query_add_series(&a->merge, a->q, series, &side, &a->err);
}

/*
 * Returns the answer as text, or "" if nothing was merged. The caller frees the
 * text.
 */
static inline char *question_text(struct question *a)
{
	struct pprof *p = NULL;

	if (!merge_count(a->merge.merge))
		return mem_strdup("");
	cr_assert(!query_merge_finish(&a->merge, &p, &a->err), "%s",
		  a->err.msg);
	return store_tell(p);
}

static inline void question_close(struct question *a)
{
	querier_close(a->q);
	query_merge_fini(&a->merge);
	query_release(&a->work);
	cr_expect(!atomic_load(&a->memory.used), "%lld bytes are kept",
		  (long long)atomic_load(&a->memory.used));
}

static inline void question_expect(struct question *a, const char *name,
				   const char *want)
{
	char *got = question_text(a);

	cr_expect(!strcmp(got, want), "%s: \"%s\", want \"%s\"", name, got,
		  want);
	mem_free(got);
}

#endif
