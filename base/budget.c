/* SPDX-License-Identifier: Apache-2.0 */
#include "base/budget.h"

/*
 * Take n bytes from b, but not from its parents. `used` is increased first, and
 * decreased again when it exceeds the bound, so that no lock is needed. A
 * concurrent caller may therefore be refused because of bytes that are about to
 * be given back.
 */
static int take_own(struct budget *b, int64_t n, struct err *err)
{
	int64_t used = atomic_load(&b->used);

	/*
	 * A request above the whole budget is not added: the sum could
	 * overflow.
	 */
	if (n <= b->max) {
		used = atomic_fetch_add(&b->used, n);
		if (used + n <= b->max)
			return 0;
		atomic_fetch_sub(&b->used, n);
	}
	return err_set(
		err, ERR_LIMIT,
		"%lld more bytes would exceed %s--%s (%lld of %lld bytes in use)",
		(long long)n, b->parent ? "one client's share of " : "",
		b->name, (long long)used, (long long)b->max);
}

/*
 * The budget b is charged before its parent, so that a client that has used up
 * its share takes nothing from the parent, not even for a moment.
 */
int budget_take(struct budget *b, int64_t n, struct err *err)
{
	int rc = take_own(b, n, err);

	if (!rc && b->parent) {
		rc = budget_take(b->parent, n, err);
		if (rc)
			atomic_fetch_sub(&b->used, n);
	}
	return rc;
}

void budget_give(struct budget *b, int64_t n)
{
	for (; b; b = b->parent)
		atomic_fetch_sub(&b->used, n);
}
