/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A budget is a bound on memory that several threads share. A budget may be a
 * share of a larger budget, its parent.
 *
 * Ownership: a budget outlives everything that takes from it, and a parent
 * outlives its shares.
 * Threads: any; the counters are atomic.
 */
#ifndef BASE_BUDGET_H
#define BASE_BUDGET_H

#include <stdatomic.h>

#include "base/defs.h"
#include "base/err.h"

/* A bound in bytes, and how much of it is in use. */
struct budget {
	/* name of the flag that sets `max`, for messages */
	const char *name;
	int64_t max;          /* the bound, in bytes */
	_Atomic int64_t used; /* bytes taken and not yet given back */
	/* the larger budget of which this is a share; or NULL */
	struct budget *parent;
};

/*
 * Take n bytes from b and from all its parents. Returns ERR_LIMIT, with nothing
 * taken and a message that names the flag, when a bound would be exceeded.
 */
NODISCARD int budget_take(struct budget *b, int64_t n, struct err *err);

/* Give n bytes, which budget_take() took, back to b and to all its parents. */
void budget_give(struct budget *b, int64_t n);

#endif
