/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interner: one shared object for each distinct label set in memory, so that
 * heads share label sets and equal sets are equal pointers.
 *
 * Ownership: the interner holds one reference to each set for as long as the
 * set has users. interner_get() adds a user, interner_put() removes one.
 * Threads: any; locks inside.
 */
#ifndef TSDB_HEAD_INTERNER_H
#define TSDB_HEAD_INTERNER_H

#include "model/labels.h"

struct interner;

/* An empty interner, which the caller owns. */
struct interner *interner_new(void);

/* Free the interner; no set may be in use. NULL is a no-op. */
void interner_free(struct interner *in);

/*
 * Return the interned set that is equal to `ls`, and add a user to it. If there
 * was none, `ls` itself is interned. The caller removes the user with
 * interner_put().
 */
struct labels *interner_get(struct interner *in, struct labels *ls);

/*
 * Remove a user that interner_get() added. The set is freed with its last user.
 */
void interner_put(struct interner *in, struct labels *ls);

/* Number of distinct label sets. */
size_t interner_count(struct interner *in);

#endif
