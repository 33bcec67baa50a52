/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ingest limiter: accounts the memory of incoming bodies and keeps it within a
 * budget. A body for which there is no room waits; nothing is dropped.
 *
 * Small bodies have priority: the last quarter of the shared budget is reserved
 * for them, so that large bodies, or many bodies that never end, cannot keep
 * them waiting. Bodies that the shared budget cannot take go one at a time
 * through a slot, which is accounted separately and fits the largest body. One
 * body can therefore always make progress, and no deadlock of half-received
 * bodies arises (docs/decisions.md, 65).
 *
 * Ownership: a limiter outlives its shares.
 * Threads: any.
 */
#ifndef CLIENT_TRANSFER_INGEST_LIMITER_H
#define CLIENT_TRANSFER_INGEST_LIMITER_H

#include "base/defs.h"

enum {
	/*
	 * size in bytes up to which a body may use the reserve for small bodies
	 */
	INTAKE_SMALL = 256 * 1024,
	/* size in bytes above which a body needs the slot */
	INTAKE_LARGE = 4 * 1024 * 1024
};

struct ingest_limiter;

/* The memory that one body holds. The zero value holds nothing. */
struct intake_share {
	struct ingest_limiter *intake;
	int64_t taken; /* bytes that the body holds */
	bool slot;     /* the bytes are in the slot, not in the shared budget */
};

/*
 * Creates a limiter. `memory` is the whole budget in bytes and should be at
 * least four times INTAKE_SMALL. Twice `largest`, the size of the largest body,
 * is set aside: once for the slot, and once for unpacking the body in the slot.
 * The rest, but at least a quarter of `memory`, is the shared budget. room(ctx)
 * is called, from any thread, when memory was given back.
 */
struct ingest_limiter *ingest_limiter_new(int64_t memory, int64_t largest,
					  void (*room)(void *ctx), void *ctx);

/* Frees a limiter. NULL is a no-op. */
void ingest_limiter_free(struct ingest_limiter *in);

/*
 * Raises the share of a body to `size` bytes in total. Returns false and leaves
 * the share as it is if there is no room now; the body then waits for room().
 */
NODISCARD bool ingest_limiter_take(struct ingest_limiter *in,
				   struct intake_share *s, int64_t size);

/* Gives back all that the share holds. */
void ingest_limiter_release(struct intake_share *s);

/* Returns the bytes held now, including the slot. */
int64_t ingest_limiter_held(struct ingest_limiter *in);

/*
 * A decision on a body: it waits, or its memory comes from the shared budget,
 * or from the slot.
 */
enum ingest_verdict {
	INTAKE_WAIT,
	INTAKE_SHARED,
	INTAKE_SLOT
};

/* The input of ingest_decide(), in bytes. */
struct ingest_state {
	int64_t max;  /* the shared budget */
	int64_t held; /* part of the shared budget held by other bodies */
	bool slot_free;
};

/* Decides whether a body may hold `size` bytes in total. Pure function. */
enum ingest_verdict ingest_decide(const struct ingest_state *s, int64_t size);

#endif
