/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool of texts that many target groups have in common, such as names of
 * labels: each text is stored once.
 *
 * A pool only grows. When a pool is full, its owner replaces it by a new one.
 * The old pool lives as long as target groups use its texts. In this way, texts
 * that have disappeared from the source do not stay in memory for ever.
 *
 * Ownership: reference counted. Texts belong to the pool.
 * Threads: one thread adds texts; references may be dropped by any thread.
 */
#ifndef DISCOVERY_CORE_TEXT_POOL_H
#define DISCOVERY_CORE_TEXT_POOL_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/table.h"
#include "base/vec.h"

/* A pool. */
struct text_pool {
	_Atomic uint32_t refs;
	struct arena arena;
	struct table by_hash;
	VEC(struct str) texts;
	/*
	 * upper halves of the hashes of the texts that text_pool_share() was
	 * called with; the lowest bits of the hash are the index, so a text can
	 * replace another one
	 */
	uint32_t *seen;
};

/* Return an empty pool; the caller owns a reference. */
struct text_pool *text_pool_new(void);

/* Take a reference and return `p`. */
struct text_pool *text_pool_ref(struct text_pool *p);

/* Drop a reference; the last one frees the pool. NULL is a no-op. */
void text_pool_unref(struct text_pool *p);

/*
 * Replace *p by a new pool if it is full. Nothing is added to a pool that was
 * replaced.
 */
void text_pool_renew(struct text_pool **p);

/* Return the pool's copy of a text, adding it if needed. */
struct str text_pool_add(struct text_pool *p, struct str text);

/*
 * If the pool remembers an earlier call with an equal text, and the text is not
 * long, set *text to the pool's copy and return true. Otherwise leave *text as
 * it is and return false: the pool does not keep a text at the first call,
 * because most texts are used only once.
 */
bool text_pool_share(struct text_pool *p, struct str *text);

#endif
