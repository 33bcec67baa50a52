/* SPDX-License-Identifier: Apache-2.0 */
#include "query/select/reading_memory.h"

#include "tsdb/query/querier.h"

/* Implement querier_spend_fn. */
static int reading_memory_spend(void *ctx, size_t bytes, struct err *err)
{
	struct reading_memory *m = ctx;
	int rc = query_take(m->work, (int64_t)bytes, err);

	if (!rc)
		m->taken += (int64_t)bytes;
	return rc;
}

void reading_memory_watch(struct reading_memory *m, struct querier *q)
{
	/* What the selection takes has been taken for it. */
	if (!m->taken)
		m->taken = (int64_t)querier_memory(q);
	querier_on_spend(q, reading_memory_spend, m);
}

int reading_memory_account(struct reading_memory *m, size_t now,
			   struct err *err)
{
	int64_t more = (int64_t)now - m->taken;
	int rc = more > 0 ? query_take(m->work, more, err) : 0;

	if (!rc && more > 0)
		m->taken += more;
	return rc;
}
