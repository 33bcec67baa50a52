/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Point exemplars: of each group and step of values over time, the profile with the largest
 * total, so that a reader finds the profile behind a peak.
 *
 * Ownership: point_exemplars_fini() frees them; labels are referenced.
 * Threads: one thread per query.
 */
#ifndef PYROSCOPE_ANSWER_POINT_EXEMPLARS_H
#define PYROSCOPE_ANSWER_POINT_EXEMPLARS_H

#include "base/limits.h"
#include "base/table.h"
#include "base/vec.h"
#include "model/labels.h"
#include "pyroscope/answer/profile_values.h"

/* The profile of a group and a step. */
struct point_exemplar {
	struct labels *group;  /* as the group has them */
	struct labels *series; /* of the profile */
	struct profile_value profile;
};

struct point_exemplars {
	const struct limits *limits;
	const struct time_steps *steps;
	struct growth_meter meter;
	VEC(struct point_exemplar) v;
	struct table by_place; /* finds them by group and step */
	struct typeset *types; /* scratch */
};

/* Begin without exemplars. `limits` and `steps` are borrowed. */
void point_exemplars_init(struct point_exemplars *e,
			  const struct limits *limits,
			  const struct time_steps *steps);

/* Free everything. */
void point_exemplars_fini(struct point_exemplars *e);

/*
 * Look at the profiles of a series that is in a group, or at the part of their samples that
 * is in it. Errors as for profile_values_each() and limits_spend().
 */
NODISCARD int point_exemplars_add(struct point_exemplars *e,
				  struct labels *group, struct labels *series,
				  const struct totals_view *t,
				  const struct value_type *type,
				  struct err *err);

/* Return the profile of a group and a step; NULL: there is none. */
const struct point_exemplar *
point_exemplars_find(const struct point_exemplars *e,
		     const struct labels *group, size_t step);

#endif
