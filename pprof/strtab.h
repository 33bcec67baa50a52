/* SPDX-License-Identifier: Apache-2.0 */
/*
 * String table: texts by number, 0 being the empty one. Either its texts are
 * borrowed and may stand there twice (a decoded profile's), or they are
 * interned: copied, each once.
 *
 * Ownership: owns what it interned. Threads: one thread at a time.
 */
#ifndef PPROF_STRTAB_H
#define PPROF_STRTAB_H

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

void strtab_fini(struct strtab *t);

/* What it takes. */
size_t strtab_memory(const struct strtab *t);

#endif
