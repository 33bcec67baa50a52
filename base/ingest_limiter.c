/* SPDX-License-Identifier: Apache-2.0 */
#include "base/ingest_limiter.h"

#include "base/mem.h"
#include "base/mutex.h"

/* The kinds of bodies; each has a slot. */
enum ingest_kind {
	INGEST_ASKED,  /* everprof has asked for it */
	INGEST_UPLOAD, /* a client has decided to send it */
	INGEST_KINDS
};

/* An ingest limiter. The mutex guards the members from `max` to `slots`. */
struct ingest_limiter {
	struct mutex mu;
	int64_t max;     /* size of the shared budget in bytes */
	int64_t held;    /* bytes of it that bodies hold */
	int64_t uploads; /* part of `held` that uploads hold */
	struct {
		bool taken;
		int64_t held; /* bytes held by the body in the slot */
	} slots[INGEST_KINDS];
	void (*room)(void *ctx); /* NULL: no callback */
	void *ctx;
	/* held by the thread that decompresses a large profile */
	struct mutex large_profile_mu;
};

static enum ingest_kind ingest_kind_of(const struct ingest_share *s)
{
	return s->sender ? INGEST_UPLOAD : INGEST_ASKED;
}

/*
 * Whether bodies that hold `held` bytes of `max` leave room for one more of
 * `size` bytes. A body above INGEST_SMALL may use only three quarters.
 */
static bool ingest_fits(int64_t held, int64_t size, int64_t max)
{
	return held + size <= (size <= INGEST_SMALL ? max : max / 4 * 3);
}

/*
 * A body of any size that gets no room in the shared budget gets the slot, if
 * the slot is free. A sender of several bodies at once gets none for those that
 * exceed its part: otherwise it could take the slot again and again, and nobody
 * else would get it.
 */
enum ingest_verdict ingest_decide(const struct ingest_state *s, int64_t size)
{
	int64_t uploads_max = s->max / 2;
	bool fits = size <= INGEST_LARGE && ingest_fits(s->held, size, s->max);

	if (s->is_upload)
		fits = fits && ingest_fits(s->uploads, size, uploads_max) &&
		       ingest_fits(s->sender, size, uploads_max / 4 * 3);
	if (fits)
		return INGEST_SHARED;
	if (s->is_upload && s->sender)
		return INGEST_WAIT;
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
	in->max = shared > memory / 4 ? shared : memory / 4;
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
 * Tell the waiting bodies, through the callback, that there may be room again.
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

/* Add n bytes, which may be negative, to what a body holds. */
static void ingest_limiter_add(struct ingest_limiter *in,
			       struct ingest_share *s, int64_t n)
	REQUIRES(in->mu)
{
	s->taken += n;
	if (s->slot) {
		in->slots[ingest_kind_of(s)].held += n;
		return;
	}
	in->held += n;
	if (s->sender) {
		in->uploads += n;
		s->sender->held += n;
	}
}

/* Return the memory of a share to the limiter. The caller holds the mutex. */
static void ingest_limiter_give(struct ingest_limiter *in,
				struct ingest_share *s) REQUIRES(in->mu)
{
	ingest_limiter_add(in, s, -s->taken);
	if (s->slot)
		in->slots[ingest_kind_of(s)].taken = false;
	s->slot = false;
}

/*
 * Decide whether a share may be raised to `size` bytes, which include the
 * memory that it holds already. The caller holds the mutex.
 */
static enum ingest_verdict ingest_limiter_ask(struct ingest_limiter *in,
					      const struct ingest_share *s,
					      int64_t size) REQUIRES(in->mu)
{
	enum ingest_kind kind = ingest_kind_of(s);
	const struct ingest_state others = {
		.max = in->max,
		.held = in->held - s->taken,
		.uploads = in->uploads - (s->sender ? s->taken : 0),
		.sender = s->sender ? s->sender->held - s->taken : 0,
		.is_upload = kind == INGEST_UPLOAD,
		.slot_free = !in->slots[kind].taken,
	};

	/* The slot is as large as the largest body. */
	return s->slot ? INGEST_SLOT : ingest_decide(&others, size);
}

/*
 * Raise a share to `size` bytes; return false if there is no room. The caller
 * holds the mutex.
 */
static bool ingest_limiter_grow(struct ingest_limiter *in,
				struct ingest_share *s, int64_t size)
	REQUIRES(in->mu)
{
	enum ingest_verdict v = ingest_limiter_ask(in, s, size);

	if (v == INGEST_WAIT)
		return false;
	ingest_limiter_give(in, s);
	s->slot = v == INGEST_SLOT;
	if (s->slot)
		in->slots[ingest_kind_of(s)].taken = true;
	ingest_limiter_add(in, s, size);
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

bool ingest_limiter_has_room(struct ingest_limiter *in,
			     const struct ingest_share *s, int64_t size)
{
	bool has;

	mutex_lock(&in->mu);
	has = ingest_limiter_ask(in, s, size) != INGEST_WAIT;
	mutex_unlock(&in->mu);
	return has;
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
	held = in->held + in->slots[INGEST_ASKED].held +
	       in->slots[INGEST_UPLOAD].held;
	mutex_unlock(&in->mu);
	return held;
}
