/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Query compare: collects the profiles of two selections apart by bucket of time and
 * by series, for a comparison with error bars (pprof/compare/compare.h).
 *
 * Ownership: query_compare_fini() frees everything; the merge is borrowed and
 * outlives the comparison.
 * Threads: one thread per query.
 */
#ifndef QUERY_MERGE_QUERY_COMPARE_H
#define QUERY_MERGE_QUERY_COMPARE_H

#include "pprof/compare/compare.h"
#include "query/merge/query_merge.h"
#include "query/select/coverage.h"

/* What is asked for. */
struct query_compare_options {
	enum compare_by by; /* what is compared */
	bool by_kind;       /* let the kind of the values decide instead */
	/*
	 * Refuse to compare the levels of states: samples of different times
	 * have no sum. The error is ERR_UNSUPPORTED if the kind has decided that
	 * levels are compared.
	 */
	bool no_states;
	double alpha;       /* family-wise error */
	double min_samples; /* rows with fewer are not tested */
	int64_t bucket_ms;  /* width of a bucket; 0: chosen */
};

/* Profiles of two selections, being collected. */
struct query_compare {
	struct query_merge *g;
	struct query_compare_options o;
	struct compare compare;
	int side;                     /* the side that is being collected */
	int64_t from[ESTIMATE_SIDES]; /* range of each side, in ms */
	int64_t to[ESTIMATE_SIDES];
	int64_t width_ms; /* of a bucket */
	size_t type;      /* index of the sample type in the merge */
	struct compare_type values;
	bool has_kind; /* type and kind are known, as a profile was found */
	/* The heartbeats of the side that is being collected. */
	struct coverage coverage;
	bool has_coverage;
	/* The series of the base, and after them those of the new side alone. */
	VEC(struct labels *) instances;
	size_t of_base; /* how many of them the base has */
	size_t series[ESTIMATE_SIDES];
	size_t profiles[ESTIMATE_SIDES];
	VEC(int64_t) spacings; /* scratch: times between profiles, in ms */
};

/* Prepare. The merge needs the option `one_type`. */
void query_compare_init(struct query_compare *c, struct query_merge *g,
			const struct query_compare_options *o);

/*
 * Collect the profiles of both selections. *out is a profile for compare_run(),
 * owned by the merge. Errors as for query_merge_run(); the message of an error
 * names the side. ERR_TIMEOUT and ERR_CLOSED, too, if time runs out before all
 * profiles are read; ERR_INVALID if what is asked for makes no sense for the kind of
 * the values.
 */
NODISCARD int query_compare_run(struct query_compare *c,
				const struct query_spec *base,
				const struct query_spec *new,
				struct pprof **out, struct err *err);

/*
 * Add the profiles of one series, whose rows are in t. Called by the merge. Errors
 * as for query_add_rows().
 */
NODISCARD int query_compare_add(struct query_compare *c, struct querier *q,
				size_t series, const struct totals_view *t,
				struct err *err);

/* Return the memory of what was collected, in bytes. */
size_t query_compare_memory(const struct query_compare *c);

/* Free everything but the merge. */
void query_compare_fini(struct query_compare *c);

#endif
