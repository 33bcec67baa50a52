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
	 * which texts text_pool_share() was called with: the lowest bits of the
	 * hash of a text are an index in this array, and the element there is
	 * the upper half of the hash; a later text with the same index replaces
	 * an earlier one
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
 * If the pool *p is full, replace it by a new one. Nothing may be added to a
 * pool that was replaced.
 */
void text_pool_renew(struct text_pool **p);

/* Return the pool's copy of a text, adding it if needed. */
struct str text_pool_add(struct text_pool *p, struct str text);

/*
 * Share the text *text if it is not longer than 256 bytes and the pool
 * remembers an earlier call with an equal text: set *text to the pool's copy
 * and return true. Otherwise leave *text as it is and return false: the pool
 * does not keep a text at the first call, because most texts are used only
 * once.
 */
bool text_pool_share(struct text_pool *p, struct str *text);

#endif
