/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waste budget: limits what a client sends beside messages. All bytes of HTTP/2 but those of
 * messages are waste: PING, SETTINGS, requests that are cancelled, frames of a few bytes,
 * padding, and frames that nobody knows. A connection may waste some at once, more with
 * time, and what a request takes with each answer.
 *
 * Threads: plain values.
 */
#ifndef WEB_GRPC_WASTE_BUDGET_H
#define WEB_GRPC_WASTE_BUDGET_H

#include "base/defs.h"

enum {
	/* All in bytes. */
	WASTE_BUDGET_MAX = 64 * 1024,       /* may be wasted at once */
	WASTE_BUDGET_PER_SECOND = 4 * 1024, /* is added each second */
	WASTE_BUDGET_PER_ANSWER = 512, /* with an answer, beside its headers */
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

/* Take bytes. False: the client has wasted too many. */
static inline bool waste_budget_take(struct waste_budget *b, int64_t bytes,
				     int64_t now_ns)
{
	int64_t step = 1000000000 / WASTE_BUDGET_PER_SECOND;
	int64_t more = (now_ns - b->filled_ns) / step;

	b->filled_ns += more * step;
	waste_budget_add(b, more);
	b->bytes -= bytes;
	return b->bytes >= 0;
}

#endif
