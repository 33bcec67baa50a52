/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gather: the profiles of a side, fetched one after another into one merge,
 * within the memory and time of a query. What cannot be read is left out and
 * told; so is what the deadline leaves.
 *
 * Ownership: owns the merge, and so the profile. Threads: one thread.
 */
#ifndef WEB_GATHER_H
#define WEB_GATHER_H

#include "pprof/aggregate.h"
#include "pprof/columns.h"
#include "pprof/decode.h"
#include "pprof/effort.h"
#include "pprof/merge.h"
#include "web/side.h"

struct gather_options {
	enum aggregate aggregate;
	bool one_type;           /* only the values of sample_index matter */
	struct str sample_index; /* as pprof's */
	struct str group_by;     /* series labels that samples get */
};

struct gather {
	struct web *web;
	struct request *r;
	struct answer *a;
	const struct gather_options *o;
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

void gather_init(struct gather *g, struct web *w, struct request *r,
		 struct answer *a, const struct gather_options *o);
void gather_fini(struct gather *g);

/* ERR_NOTFOUND: there is no profile; ERR_TIMEOUT; ERR_LIMIT; ERR_INVALID. */
NODISCARD int gather_run(struct gather *g, const struct side *s,
			 struct err *err);

/*
 * The merged profile: the merge is finished, and belongs to the caller's
 * report. ERR_LIMIT.
 */
NODISCARD int gather_finish(struct gather *g, struct pprof **out,
			    struct err *err);

/*
 * The same of a base, subtracted from *p: the difference, in *p, belongs to
 * both. ERR_LIMIT, ERR_INVALID.
 */
NODISCARD int gather_subtract(struct gather *base, struct merge *both,
			      const struct merge_diff_options *o,
			      struct pprof **p, struct err *err);

/* What reports ask: memory of all queries, and the request's deadline. */
struct effort gather_effort(struct gather *g);

/* A sentence for each thing that is missing, in the request's arena. */
size_t gather_warnings(const struct gather *g, const char **out, size_t max);

#endif
