/* SPDX-License-Identifier: Apache-2.0 */
#include "base/ingest_limiter.h"

#include "base/mem.h"
#include "base/mutex.h"

/* An ingest limiter. The mutex guards `state` and `slot`. */
struct ingest_limiter {
	struct mutex mu;
	struct ingest_state state;
	/* bytes held by the body in the slot (see ingest_limiter.h) */
	int64_t slot;
	void (*room)(void *ctx); /* NULL: no callback */
	void *ctx;
	/* held by the thread that decompresses a large profile */
	struct mutex large_profile_mu;
};

/*
 * A body above INGEST_SMALL may use only three quarters of the shared budget.
 * A body of any size that gets no room in the shared budget gets the slot, if
 * the slot is free.
 */
enum ingest_verdict ingest_decide(const struct ingest_state *s, int64_t size)
{
	int64_t max = size <= INGEST_SMALL ? s->max : s->max / 4 * 3;

	if (size <= INGEST_LARGE && s->held + size <= max)
		return INGEST_SHARED;
	return s->slot_free ? INGEST_SLOT : INGEST_WAIT;
}

/*
 * At least a quarter of `memory` becomes the shared budget, even if too little
 * is left after twice `largest` is set aside. The total can then exceed
 * `memory`.
 */
struct ingest_limiter *ingest_limiter_new(int64_t memory, int64_t largest)
{
	struct ingest_limiter *in = mem_new(struct ingest_limiter);
	int64_t shared = memory - 2 * largest;

	mutex_init(&in->mu);
	mutex_init(&in->large_profile_mu);
	in->state.max = shared > memory / 4 ? shared : memory / 4;
	in->state.slot_free = true;
	return in;
}

void ingest_limiter_set_room(struct ingest_limiter *in, void (*room)(void *ctx),
			     void *ctx)
{
	in->room = room;
	in->ctx = ctx;
}

struct mutex *ingest_limiter_large_profile_mu(struct ingest_limiter *in)
{
	return &in->large_profile_mu;
}

/*
 * Tells the waiting bodies, through the callback, that there may be room again.
 */
static void ingest_limiter_notify(struct ingest_limiter *in)
{
	if (in->room)
		in->room(in->ctx);
}

void ingest_limiter_free(struct ingest_limiter *in)
{
	if (!in)
		return;
	mutex_destroy(&in->large_profile_mu);
	mutex_destroy(&in->mu);
	mem_free(in);
}

/* Returns the memory of a share to the limiter. The caller holds the mutex. */
static void ingest_limiter_give(struct ingest_limiter *in,
				struct ingest_share *s) REQUIRES(in->mu)
{
	if (s->slot) {
		in->state.slot_free = true;
		in->slot = 0;
	} else {
		in->state.held -= s->taken;
	}
	s->taken = 0;
	s->slot = false;
}

/*
 * Raises a share to `size` bytes; returns false if there is no room. The caller
 * holds the mutex. A body in the slot may always grow, because the slot is as
 * large as the largest body.
 */
static bool ingest_limiter_grow(struct ingest_limiter *in,
				struct ingest_share *s, int64_t size)
	REQUIRES(in->mu)
{
	struct ingest_state others = in->state;
	enum ingest_verdict v;

	if (s->slot) {
		in->slot = s->taken = size;
		return true;
	}
	/* `size` includes the memory that this body already holds. */
	others.held -= s->taken;
	v = ingest_decide(&others, size);
	if (v == INGEST_WAIT)
		return false;
	ingest_limiter_give(in, s);
	s->taken = size;
	s->slot = v == INGEST_SLOT;
	if (s->slot) {
		in->slot = size;
		in->state.slot_free = false;
	} else {
		in->state.held += size;
	}
	return true;
}

bool ingest_limiter_take(struct ingest_limiter *in, struct ingest_share *s,
			 int64_t size)
{
	bool was_shared = s->taken && !s->slot;
	bool may;

	if (size <= s->taken)
		return true;
	s->limiter = in;
	mutex_lock(&in->mu);
	may = ingest_limiter_grow(in, s, size);
	mutex_unlock(&in->mu);
	/*
	 * The body has moved from the shared budget to the slot. A waiting body
	 * may use the memory that became free. The callback runs without the
	 * mutex, because it may call functions of the limiter.
	 */
	if (was_shared && s->slot)
		ingest_limiter_notify(in);
	return may;
}

void ingest_limiter_release(struct ingest_share *s)
{
	struct ingest_limiter *in = s->limiter;

	/* A share that holds no memory leaves nothing for waiting bodies. */
	if (!in || !s->taken)
		return;
	mutex_lock(&in->mu);
	ingest_limiter_give(in, s);
	mutex_unlock(&in->mu);
	ingest_limiter_notify(in);
}

int64_t ingest_limiter_held(struct ingest_limiter *in)
{
	int64_t held;

	mutex_lock(&in->mu);
	held = in->state.held + in->slot;
	mutex_unlock(&in->mu);
	return held;
}
