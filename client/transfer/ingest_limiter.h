/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intake: the memory that bodies on their way in share. A body that may not
 * grow waits; nothing is dropped for it.
 *
 * Small bodies come first, so that a few large ones, or many that never end,
 * cannot keep them out: the last quarter is theirs alone. Large bodies go one
 * at a time, through a slot of its own that is as large as the largest body;
 * so there is always one that can go on, and none waits for ever.
 *
 * Ownership: an intake outlives its shares.
 * Threads: any.
 */
#ifndef CLIENT_TRANSFER_INGEST_LIMITER_H
#define CLIENT_TRANSFER_INGEST_LIMITER_H

#include "base/defs.h"

enum {
	INTAKE_SMALL = 256 * 1024,
	INTAKE_LARGE = 4 * 1024 * 1024
};

struct ingest_limiter;

/* What one body holds. The zero value holds nothing. */
struct intake_share {
	struct ingest_limiter *intake;
	int64_t taken;
	bool slot; /* taken is the slot's */
};

/*
 * memory: for all bodies together, at least four times INTAKE_SMALL, with two
 * of the largest: the slot, and what becomes of it when it is unpacked. What
 * is left for the others is a quarter at least. room() is called, from any
 * thread, when something was given back.
 */
struct ingest_limiter *ingest_limiter_new(int64_t memory, int64_t largest,
					  void (*room)(void *ctx), void *ctx);
void ingest_limiter_free(struct ingest_limiter *in); /* NULL is a no-op */

/* Whether a body may hold size bytes from now on. */
NODISCARD bool ingest_limiter_take(struct ingest_limiter *in,
				   struct intake_share *s, int64_t size);

/* Give all back. */
void ingest_limiter_release(struct intake_share *s);

/* Bytes that are held now, the slot's too. */
int64_t ingest_limiter_held(struct ingest_limiter *in);

/* The decision: what is held by others of what there is. Pure. */
enum ingest_verdict {
	INTAKE_WAIT,
	INTAKE_SHARED,
	INTAKE_SLOT
};

struct ingest_state {
	int64_t max;  /* of all that is shared */
	int64_t held; /* of it, by other bodies */
	bool slot_free;
};

enum ingest_verdict ingest_decide(const struct ingest_state *s, int64_t size);

#endif
