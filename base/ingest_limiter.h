/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ingest limiter: accounts for the memory of all bodies that are being
 * received, and keeps it within a budget. A body for which there is no room
 * waits; nothing is dropped.
 *
 * Small bodies have priority: the last quarter of the shared budget is reserved
 * for them, so that large bodies, or many bodies that never end, cannot keep
 * them waiting. A body for which the shared budget has no room uses the slot:
 * memory for one body of the largest size, outside of the shared budget. One
 * body can therefore always make progress, and half-received bodies cannot
 * block each other forever (docs/decisions.md, 65).
 *
 * Bodies that others decide to send (uploads) must not keep bodies waiting that
 * everprof asks for (answers of targets). All uploads together may therefore
 * use one half of the shared budget, and those of one sender three quarters of
 * this half. Uploads also have a slot of their own, which a sender gets only
 * while it holds nothing of the shared budget (docs/decisions.md, 186).
 *
 * Ownership: a limiter outlives its shares.
 * Threads: any.
 */
#ifndef BASE_INGEST_LIMITER_H
#define BASE_INGEST_LIMITER_H

#include "base/defs.h"

enum {
	/*
	 * size in bytes up to which a body may use the reserved quarter of the
	 * shared budget
	 */
	INGEST_SMALL = 256 * 1024,
	/*
	 * size in bytes above which a body always uses the slot; a remote write
	 * request of the default maximum size takes less, including its
	 * compressed body
	 */
	INGEST_LARGE = 8 * 1024 * 1024
};

struct ingest_limiter;
struct mutex;

/*
 * One sender of uploads, such as a client address. The zero value holds no
 * memory. A sender outlives its shares.
 */
struct ingest_sender {
	int64_t held; /* bytes of the shared budget; guarded by the limiter */
};

/*
 * The memory that the limiter has granted to one body. The zero value holds no
 * memory.
 */
struct ingest_share {
	struct ingest_limiter *limiter;
	/* who sends the body; NULL: everprof has asked for it */
	struct ingest_sender *sender;
	int64_t taken; /* bytes that the body holds */
	/* whether the bytes are in the slot, not in the shared budget */
	bool slot;
};

/*
 * Create a limiter. `memory` is the whole budget in bytes and should be at
 * least four times INGEST_SMALL. Twice `largest`, the size of the largest body,
 * is set aside: once for the slot, and once for unpacking the body in the slot.
 * The rest, but at least a quarter of `memory`, is the shared budget. The slot
 * of uploads comes on top, because most servers receive no uploads.
 */
struct ingest_limiter *ingest_limiter_new(int64_t memory, int64_t largest);

/*
 * Set the callback room(ctx), which the limiter calls from any thread after a
 * body has returned memory. A limiter has one callback at most; it must be set
 * before the limiter is used.
 */
void ingest_limiter_set_room(struct ingest_limiter *in, void (*room)(void *ctx),
			     void *ctx);

/*
 * Return the lock that a thread must hold while it decompresses a large
 * profile, so that only one such profile is in memory at a time; see
 * unpacker_share() in pprof/proto/unpack.h.
 */
struct mutex *ingest_limiter_large_profile_mu(struct ingest_limiter *in);

/* Free a limiter. NULL is a no-op. */
void ingest_limiter_free(struct ingest_limiter *in);

/*
 * Raise the share `s` of a body to `size` bytes in total. Returns false and
 * leaves the share unchanged if there is no room now; the body then has to wait
 * until room() is called.
 */
NODISCARD bool ingest_limiter_take(struct ingest_limiter *in,
				   struct ingest_share *s, int64_t size);

/*
 * Return whether ingest_limiter_take() would succeed now. Takes nothing, so
 * that the result may be outdated at once.
 */
bool ingest_limiter_has_room(struct ingest_limiter *in,
			     const struct ingest_share *s, int64_t size);

/* Return all memory of the share to the limiter. */
void ingest_limiter_release(struct ingest_share *s);

/*
 * Return the number of bytes that all bodies hold now, in the shared budget
 * and in the slots.
 */
int64_t ingest_limiter_held(struct ingest_limiter *in);

/*
 * A decision on a body: it has to wait, or it gets memory from the shared
 * budget, or it gets the slot.
 */
enum ingest_verdict {
	INGEST_WAIT,
	INGEST_SHARED,
	INGEST_SLOT
};

/*
 * The input of ingest_decide(); sizes in bytes. For a body that everprof has
 * asked for, `uploads` and `sender` do not matter.
 */
struct ingest_state {
	int64_t max;     /* size of the shared budget */
	int64_t held;    /* part of the shared budget that other bodies hold */
	int64_t uploads; /* part of `held` that uploads hold */
	int64_t sender;  /* part of `uploads` that the body's sender holds */
	bool is_upload;  /* whether the body is an upload */
	bool slot_free;  /* whether the slot for such a body is free */
};

/* Decide whether a body may hold `size` bytes in total. Pure function. */
enum ingest_verdict ingest_decide(const struct ingest_state *s, int64_t size);

#endif
