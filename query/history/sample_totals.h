/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sample totals: the totals of some samples of the profiles of a series, grouped by
 * labels of the samples. Each group is a totals_view, as a timeline needs it. Stored
 * profiles are read one after another, and nothing of them is kept but the sums.
 *
 * A series has the labels of its samples, too: if it has a label itself, that one
 * counts for all of its samples.
 *
 * Ownership: options are borrowed; sample_totals_fini() frees the rest.
 * Threads: one thread per query.
 */
#ifndef QUERY_HISTORY_SAMPLE_TOTALS_H
#define QUERY_HISTORY_SAMPLE_TOTALS_H

#include "base/arena.h"
#include "base/table.h"
#include "model/matcher.h"
#include "pprof/columns/columns_keys.h"
#include "pprof/proto/decode.h"
#include "query/select/query_work.h"
#include "query/select/reading_memory.h"
#include "tsdb/query/querier.h"

/* What is added up. */
struct sample_totals_options {
	struct query_work *work;
	/* The sample type whose values are added up. */
	const struct value_type *type;
	/* Of a series that lacks the label of a matcher, these samples count. */
	const struct matcher *matchers;
	size_t matcher_count;
	/* Samples are grouped by these labels, unless the series has them. */
	const struct str *names;
	size_t name_count;
	/*
	 * Removes the samples that do not count from a profile, whose strings are
	 * interned; NULL: all count.
	 */
	int (*filter)(void *ctx, struct pprof *p, struct err *err);
	void *filter_ctx;
};

/* The samples that have certain values of the labels. */
struct sample_group {
	/*
	 * The values in the order of the names; empty: the samples lack the
	 * label, or the series has it.
	 */
	const struct str *values;
	int64_t *totals; /* by row; NULL: the series has none */
};

/* Classes, as of struct class_sums; a vector (base/vec.h). */
struct sample_classes {
	uint32_t *v;
	size_t count;
	size_t cap;
};

/* Sample totals of a series. */
struct sample_totals {
	const struct sample_totals_options *o;
	struct limits limits;
	struct growth_meter meter;
	struct reading_memory memory;
	VEC(struct sample_group) groups; /* of all series so far */
	struct table by_values;
	struct arena arena;
	/* The groups that the series has, as indexes of `groups`. */
	VEC(uint32_t) present;
	VEC(struct totals_row) rows; /* those that could be read */
	VEC(bool) restarts;          /* of the process, by row */
	struct buf typeset;          /* of the views, encoded */
	struct bytes encoded;        /* the bytes of `typeset` */
	struct totals_view of;       /* the view from which it is made */
	/* Of the row being read, and of one with other types before it. */
	struct typeset *types;
	struct typeset *before_types;
	uint32_t typeset_index; /* of `types` in the view; UINT32_MAX: none */
	size_t type_at;         /* of the sample type in `types` */
	/* The matchers of labels that the series lacks, and the names. */
	VEC(struct matcher) lacking;
	VEC(bool) lacks;
	/*
	 * The last profile read as columns, whose table the classes of keys
	 * belong to.
	 */
	struct querier_row row;
	const struct dictionary *d;        /* NULL: there are no classes */
	struct sample_classes set_classes; /* by label set */
	struct sample_classes key_classes;
	struct sample_classes own_classes; /* of a profile that was decoded */
	struct class_sums sums;
	size_t sum_count;
	struct columns_sum *columns;
	struct decoder *decoder;
	struct profile fetched;
	/* Profiles that could not be read, and the error of the first one. */
	size_t damaged;
	struct err damage;
};

/* Begin without a series. */
void sample_totals_init(struct sample_totals *s,
			const struct sample_totals_options *o);

/* Free everything. */
void sample_totals_fini(struct sample_totals *s);

/*
 * Whether the samples of a series have to be looked at: it lacks a label, or there
 * is a filter.
 */
bool sample_totals_needed(const struct sample_totals *s,
			  const struct labels *series);

/*
 * Read the profiles of series number `i`, whose totals are in `t`: all of them must
 * have the sample type. What was read before is forgotten. Profiles that are damaged
 * are left out and counted. Errors as for query_check_deadline() and query_take();
 * ERR_INVALID: a matcher took too many steps; those of the filter.
 */
NODISCARD int sample_totals_read(struct sample_totals *s, struct querier *q,
				 size_t i, const struct totals_view *t,
				 struct err *err);

/* Return the totals of a group that the series has, until the next read. */
struct totals_view sample_totals_view(const struct sample_totals *s,
				      uint32_t group);

#endif
