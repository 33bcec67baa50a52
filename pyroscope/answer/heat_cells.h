/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heat cells: the values of profiles in a grid of steps of time and equal parts of the range
 * of all values, by group: how many profiles are in each cell, and which of them has the
 * largest value.
 *
 * Ownership: heat_cells_fini() frees everything; labels are referenced.
 * Threads: one thread per query.
 */
#ifndef PYROSCOPE_ANSWER_HEAT_CELLS_H
#define PYROSCOPE_ANSWER_HEAT_CELLS_H

#include "base/limits.h"
#include "base/table.h"
#include "base/vec.h"
#include "model/labels.h"
#include "pyroscope/answer/profile_values.h"

enum {
	HEAT_CELLS_ROWS = 20 /* parts of the range of values */
};

/* A profile, with its group and series as indexes. */
struct heat_profile {
	uint32_t group;
	uint32_t series;
	struct profile_value value;
};

/* A group; `total` is the sum of its values. */
struct heat_group {
	struct labels *labels;
	double total;
};

/* A cell. `best` is an index of profiles; of an empty cell, it means nothing. */
struct heat_cell {
	uint32_t count;
	uint32_t best;
};

struct heat_cells {
	const struct limits *limits;
	const struct time_steps *steps;
	struct growth_meter meter;
	VEC(struct heat_profile) profiles;
	VEC(struct heat_group) groups;
	VEC(struct labels *) series;
	struct table by_labels;  /* finds groups */
	struct typeset *types;   /* scratch */
	struct heat_cell *cells; /* of heat_cells_count() */
	int64_t least;           /* value of all profiles */
	int64_t most;
};

/* Begin without profiles. `limits` and `steps` are borrowed. */
void heat_cells_init(struct heat_cells *h, const struct limits *limits,
		     const struct time_steps *steps);

/* Free everything. */
void heat_cells_fini(struct heat_cells *h);

/*
 * Add the profiles of a series to a group, or the part of their samples that is in it.
 * Errors as for profile_values_each() and limits_spend().
 */
NODISCARD int heat_cells_add(struct heat_cells *h, struct labels *group,
			     struct labels *series, const struct totals_view *t,
			     const struct value_type *type, struct err *err);

/* Count the profiles of all groups, once all are added. Errors as for limits_spend(). */
NODISCARD int heat_cells_count(struct heat_cells *h, struct err *err);

/* Return the cell of a group, a step and a row; row 0 has the smallest values. */
const struct heat_cell *heat_cells_at(const struct heat_cells *h, size_t group,
				      size_t step, size_t row);

/* Return the smallest value of a row. */
double heat_cells_bound(const struct heat_cells *h, size_t row);

#endif
