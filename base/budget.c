/* SPDX-License-Identifier: Apache-2.0 */
#include "base/budget.h"

int budget_take(struct budget *b, int64_t n, struct err *err)
{
	int64_t used = atomic_fetch_add(&b->used, n) + n;

	if (used <= b->max)
		return 0;
	atomic_fetch_sub(&b->used, n);
	return err_set(err, ERR_LIMIT,
		       "%lld bytes more would pass --%s (%lld of %lld in use)",
		       (long long)n, b->name, (long long)(used - n),
		       (long long)b->max);
}

void budget_give(struct budget *b, int64_t n)
{
	atomic_fetch_sub(&b->used, n);
}
