/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flame path: the path of a sample through a flame tree, which begins at the
 * root of the tree. Depending on the kind of tree, it has the whole stack,
 * inwards or outwards, or the part of the stack that begins at one function
 * (the pivot).
 *
 * Ownership: borrows the report; flame_path_fini() frees the rest.
 * Threads: one thread at a time.
 */
#ifndef PPROF_REPORT_FLAME_PATH_H
#define PPROF_REPORT_FLAME_PATH_H

#include "pprof/report/report_state.h"

/* The direction in which a tree grows, and where it begins. */
enum flame_walk {
	/* From the outermost frame inwards. */
	FLAME_INWARDS,
	/* From the innermost frame outwards: an inverted tree. */
	FLAME_OUTWARDS,
	/* From the outermost frame that matches `pivot` inwards. */
	FLAME_CALLEES,
	/* From the outermost frame that matches `pivot` outwards. */
	FLAME_CALLERS,
};

/* One step of a path. */
struct flame_step {
	uint32_t node; /* node of the report */
	/* Whether the frame is inlined into its caller. */
	bool inlined;
};

/* The path of one sample, which is overwritten for each sample. */
struct flame_path {
	const struct report *r;
	enum flame_walk walk;
	/* By node: whether `pivot` matches. NULL unless the walk needs it. */
	bool *pivots;
	VEC(struct flame_step) steps; /* all frames, outermost first */
	/* The part of `steps` that is the path. */
	size_t first;
	size_t count;
};

/*
 * Prepare paths. ERR_INVALID: the option `pivot` is malformed, or takes too
 * many steps; ERR_NOTFOUND: it matches no function. Call flame_path_fini() also
 * after an error.
 */
NODISCARD int flame_path_init(struct flame_path *x, const struct report *r,
			      enum flame_walk walk, struct err *err);

/* Free the path. */
void flame_path_fini(struct flame_path *x);

/*
 * Fill the path of a sample. `count` is 0 if the sample has no path: its stack
 * is empty, or lacks the pivot. ERR_LIMIT, ERR_TIMEOUT: as for limits_spend().
 */
NODISCARD int flame_path_take(struct flame_path *x, size_t sample,
			      struct growth_meter *meter, struct err *err);

/* Return step `i` of the path, counted from the root of the tree. */
const struct flame_step *flame_path_step(const struct flame_path *x, size_t i);

#endif
