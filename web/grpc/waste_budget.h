/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waste budget: limits what a client sends for nothing. All bytes of HTTP/2 are waste but
 * those of messages and of requests that are admitted and not cancelled: PING, SETTINGS,
 * cancelled requests, frames of a few bytes, padding, and frames that nobody knows. A
 * connection may waste some at once, and more with time and with each answer.
 *
 * Threads: plain values.
 */
#ifndef WEB_GRPC_WASTE_BUDGET_H
#define WEB_GRPC_WASTE_BUDGET_H

#include "base/defs.h"

enum {
	/*
	 * All in bytes. What may be wasted at once is more than the largest headers,
	 * which are waste until they are complete.
	 */
	WASTE_BUDGET_MAX = 24 * 1024,
	WASTE_BUDGET_PER_SECOND = 4 * 1024, /* is added each second */
	/* is added with a request, beside its headers, for frames that belong to it */
	WASTE_BUDGET_PER_REQUEST = 512,
	/* is taken for a cancelled request, beside what it has sent */
	WASTE_BUDGET_PER_CANCEL = 256,
	/* A part of a message may be wasted beside it, for the heads of its frames. */
	WASTE_BUDGET_SHARE = 16
};

/* What a client may waste. */
struct waste_budget {
	int64_t bytes;
	int64_t filled_ns; /* until when time has added bytes */
};

/* Return a full budget. */
static inline struct waste_budget waste_budget_init(int64_t now_ns)
{
	return (struct waste_budget){ .bytes = WASTE_BUDGET_MAX,
				      .filled_ns = now_ns };
}

/* Add bytes, up to the maximum. */
static inline void waste_budget_add(struct waste_budget *b, int64_t bytes)
{
	b->bytes += bytes;
	if (b->bytes > WASTE_BUDGET_MAX)
		b->bytes = WASTE_BUDGET_MAX;
}

/* Take bytes, or add them if they are less than 0. False: too many were wasted. */
static inline bool waste_budget_take(struct waste_budget *b, int64_t bytes,
				     int64_t now_ns)
{
	int64_t step = 1000000000 / WASTE_BUDGET_PER_SECOND;
	int64_t more = (now_ns - b->filled_ns) / step;

	b->filled_ns += more * step;
	waste_budget_add(b, more);
	waste_budget_add(b, -bytes);
	return b->bytes >= 0;
}

#endif
