/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gather: the profiles of a side, fetched one after another into one merge,
 * within the memory and time of a query. What cannot be read is left out and
 * told; so is what the deadline leaves.
 *
 * Ownership: owns the merge, and so the profile. Threads: one thread.
 */
#ifndef QUERY_QUERY_MERGE_H
#define QUERY_QUERY_MERGE_H

#include "pprof/aggregate.h"
#include "pprof/columns.h"
#include "pprof/decode.h"
#include "pprof/effort.h"
#include "pprof/merge.h"
#include "query/work/query_spec.h"

struct query_merge_options {
	enum aggregate aggregate;
	bool one_type;           /* only the values of sample_index matter */
	struct str sample_index; /* as pprof's */
	struct str group_by;     /* series labels that samples get */
};

struct query_merge {
	struct tsdb *db;
	struct query_work *work;
	const struct query_merge_options *o;
	struct merge *merge;
	struct columns_sum *sum; /* not merged yet */
	struct decoder *decoder;
	struct profile fetched;
	struct typeset *types;
	size_t series;
	size_t profiles; /* merged */
	size_t damaged;
	struct err damage; /* the first */
	bool late;         /* the deadline came before all were merged */
	int64_t taken;
	int64_t ms;            /* of a single profile */
	struct labels *labels; /* of its series, or NULL */
};

void query_merge_init(struct query_merge *g, struct tsdb *db,
		      struct query_work *work,
		      const struct query_merge_options *o);
void query_merge_fini(struct query_merge *g);

/* ERR_NOTFOUND: there is no profile; ERR_TIMEOUT; ERR_LIMIT; ERR_INVALID. */
NODISCARD int query_merge_run(struct query_merge *g, const struct query_spec *s,
			      struct err *err);

/*
 * The merged profile: the merge is finished, and belongs to the caller's
 * report. ERR_LIMIT.
 */
NODISCARD int query_merge_finish(struct query_merge *g, struct pprof **out,
				 struct err *err);

/*
 * The same of a base, subtracted from *p: the difference, in *p, belongs to
 * both. ERR_LIMIT, ERR_INVALID.
 */
NODISCARD int query_merge_subtract(struct query_merge *base, struct merge *both,
				   const struct merge_diff_options *o,
				   struct pprof **p, struct err *err);

/* What reports ask for: memory of all queries, and the deadline. */
struct effort query_merge_effort(struct query_merge *g);

/* A sentence for each thing that is missing, in the arena. */
size_t query_merge_warnings(const struct query_merge *g, struct arena *arena,
			    const char **out, size_t max);

#endif
