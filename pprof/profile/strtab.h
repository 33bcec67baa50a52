/* SPDX-License-Identifier: Apache-2.0 */
/*
 * String table: strings by number, where number 0 is the empty string. A table
 * is used in one of two ways: either its strings are borrowed and may repeat
 * (as in a decoded profile), or they are interned: copied into the table, each
 * distinct string once.
 *
 * Ownership: the table owns the strings that it interned until strtab_fini();
 * borrowed strings stay the caller's.
 * Threads: used by one thread at a time.
 */
#ifndef PPROF_PROFILE_STRTAB_H
#define PPROF_PROFILE_STRTAB_H

#include "base/arena.h"
#include "base/table.h"
#include "base/vec.h"

/* A string table. The zero value is an empty table. */
struct strtab {
	VEC(struct str) strings;
	struct table index; /* numbers of interned strings, by hash */
	struct arena text;  /* storage of the bytes of interned strings */
};

/*
 * Return the number of s, which is copied into the table if it is not there
 * yet. The first call also adds the empty string as number 0.
 */
uint32_t strtab_intern(struct strtab *t, struct str s);

/* Return string number i, which must exist; borrowed from the table. */
static inline struct str strtab_get(const struct strtab *t, uint32_t i)
{
	return t->strings.v[i];
}

/*
 * Intern s like strtab_intern(), for callers whose strings mostly come in the
 * order in which they were added before: string number *next is compared first,
 * which saves hashing when it matches. Sets *next to the number that follows s.
 */
uint32_t strtab_intern_next(struct strtab *t, struct str s, uint32_t *next);

/*
 * Remove all strings whose number is `count` or higher. Their memory is freed
 * only by strtab_fini().
 */
void strtab_truncate(struct strtab *t, size_t count);

/* Free the table and every string that it interned. */
void strtab_fini(struct strtab *t);

/* Return the memory of the table and its interned strings, in bytes. */
size_t strtab_memory(const struct strtab *t);

#endif
