/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frame budget: limits the frames of HTTP/2 by which a client makes the server work for
 * nothing, such as PING, SETTINGS, RST_STREAM, CONTINUATION, and DATA of a few bytes. A
 * connection has a number of them, gets more with time, and more with each answer that it
 * takes, because clients send some of them with each request.
 *
 * Threads: plain values.
 */
#ifndef WEB_GRPC_FRAME_BUDGET_H
#define WEB_GRPC_FRAME_BUDGET_H

#include "base/defs.h"

enum {
	FRAME_BUDGET_MAX = 256,        /* frames that may come at once */
	FRAME_BUDGET_PER_SECOND = 100, /* frames that are added each second */
	FRAME_BUDGET_PER_ANSWER = 4 /* frames that are added with an answer */
};

/* The frames that a client may send. */
struct frame_budget {
	int64_t frames;
	int64_t filled_ns; /* until when time has added frames */
};

/* Return a full budget. */
static inline struct frame_budget frame_budget_init(int64_t now_ns)
{
	return (struct frame_budget){ .frames = FRAME_BUDGET_MAX,
				      .filled_ns = now_ns };
}

/* Add the frames of an answer. */
static inline void frame_budget_add(struct frame_budget *b, int64_t frames)
{
	b->frames += frames;
	if (b->frames > FRAME_BUDGET_MAX)
		b->frames = FRAME_BUDGET_MAX;
}

/* Take a frame. False: the client has sent too many. */
static inline bool frame_budget_take(struct frame_budget *b, int64_t now_ns)
{
	int64_t step = 1000000000 / FRAME_BUDGET_PER_SECOND;
	int64_t steps = (now_ns - b->filled_ns) / step;

	b->filled_ns += steps * step;
	frame_budget_add(b, steps);
	return --b->frames >= 0;
}

#endif
