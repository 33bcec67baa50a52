/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interner: one object for each distinct label set in memory, so that ranges
 * share them and equal sets are equal pointers.
 *
 * Ownership: interner_get() gives a reference; the interner itself holds none
 * and forgets a set when interner_put() gives back the last one.
 * Threads: any; locks inside.
 */
#ifndef TSDB_HEAD_INTERNER_H
#define TSDB_HEAD_INTERNER_H

#include "model/labels.h"

struct interner;

struct interner *interner_new(void);
void interner_free(struct interner *in);

/* The one set equal to ls: ls itself when it is the first. */
struct labels *interner_get(struct interner *in, struct labels *ls);

/* Give a reference back. */
void interner_put(struct interner *in, struct labels *ls);

size_t interner_count(struct interner *in);

#endif
