/* SPDX-License-Identifier: Apache-2.0 */
/*
 * String table: texts by number, 0 being the empty one. Either its texts are
 * borrowed and may stand there twice (a decoded profile's), or they are
 * interned: copied, each once.
 *
 * Ownership: owns what it interned. Threads: one thread at a time.
 */
#ifndef PPROF_WIRE_STRTAB_H
#define PPROF_WIRE_STRTAB_H

#include "base/arena.h"
#include "base/table.h"
#include "base/vec.h"

struct strtab {
	VEC(struct str) strings;
	struct table index; /* of interned strings */
	struct arena text;
};

/* The number of s, which is copied when it is new. */
uint32_t strtab_intern(struct strtab *t, struct str s);

static inline struct str strtab_get(const struct strtab *t, uint32_t i)
{
	return t->strings.v[i];
}

/*
 * The same for texts that mostly come in the order in which they came before:
 * *next is the number to be looked at first, and set to the one behind s.
 */
uint32_t strtab_intern_next(struct strtab *t, struct str s, uint32_t *next);

/* Forget the texts from number count on; their memory is kept until the end. */
void strtab_truncate(struct strtab *t, size_t count);

void strtab_fini(struct strtab *t);

/* What it takes. */
size_t strtab_memory(const struct strtab *t);

#endif
