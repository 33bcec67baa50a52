/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Budget: a bound on memory that many threads share.
 *
 * Ownership: the owner of a budget outlives whoever takes from it; a parent
 * outlives its shares.
 * Threads: any.
 */
#ifndef BASE_BUDGET_H
#define BASE_BUDGET_H

#include <stdatomic.h>

#include "base/defs.h"
#include "base/err.h"

struct budget {
	const char *name; /* the flag that sets it, for the message */
	int64_t max;      /* bytes */
	_Atomic int64_t used;
	struct budget *parent; /* of which this is a share; may be NULL */
};

/*
 * Take n bytes, of the parent, too. ERR_LIMIT, naming the flag, when they would
 * pass a bound.
 */
NODISCARD int budget_take(struct budget *b, int64_t n, struct err *err);

void budget_give(struct budget *b, int64_t n);

#endif
