/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The totals of a series with one sample type, as the querier gives them.
 *
 * Ownership: series_view_fini() frees.
 * Threads: one thread.
 */
#ifndef TESTS_PYROSCOPE_SERIES_VIEW_H
#define TESTS_PYROSCOPE_SERIES_VIEW_H

#include "base/mem.h"
#include "model/labels.h"
#include "model/types.h"
#include "query/select/time_steps.h"
#include "tests/check.h"
#include "tsdb/query/querier.h"

#define SERIES_VIEW_MAX 16

/* A profile: its time, total and duration in ms. A time of 0 ends a list of them. */
struct series_profile {
	int64_t ms;
	int64_t total;
	int64_t duration_ms;
};

struct series_view {
	struct value_type type;
	struct totals_row rows[SERIES_VIEW_MAX];
	int64_t totals[SERIES_VIEW_MAX];
	struct buf typeset;
	struct bytes typesets[1];
	struct totals_view view;
};

/* Make a view; its members refer to one another, so it is not copied. */
static inline void series_view_init(struct series_view *s, const char *type,
				    const struct series_profile *v)
{
	struct typeset *types = mem_new(struct typeset);

	*s = (struct series_view){ .type = { str_of(type), str_of("unit") } };
	types->types[0] = s->type;
	types->count = 1;
	typeset_encode(types, &s->typeset);
	mem_free(types);
	s->typesets[0] = buf_bytes(&s->typeset);
	s->view = (struct totals_view){ .rows = s->rows,
					.totals = s->totals,
					.typesets = s->typesets,
					.typeset_count = 1 };
	for (size_t i = 0; i < SERIES_VIEW_MAX && v[i].ms; i++) {
		s->rows[i] =
			(struct totals_row){ .ms = v[i].ms,
					     .duration_ns =
						     v[i].duration_ms * 1000000,
					     .first = (uint32_t)i };
		s->totals[i] = v[i].total;
		s->view.count++;
	}
}

static inline void series_view_fini(struct series_view *s)
{
	buf_fini(&s->typeset);
}

/* Labels with one name, "pod"; the caller releases them. */
static inline struct labels *series_view_labels(const char *pod)
{
	struct labels_builder b = { 0 };
	struct labels *ls = NULL;

	labels_set(&b, str_of("pod"), str_of(pod));
	cr_assert(!labels_build(&b, &ls, NULL));
	labels_builder_fini(&b);
	return ls;
}

#endif
