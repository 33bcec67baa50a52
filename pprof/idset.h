/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of the ids of a profile's table: dense ones as a bitmap, others as a
 * sorted list, so that memory follows the number of ids, not their size.
 *
 * Threads: one thread at a time.
 */
#ifndef PPROF_IDSET_H
#define PPROF_IDSET_H

#include "base/defs.h"

/* The zero value is an empty set; reset it to use its memory again. */
struct idset {
	uint64_t *ids;
	size_t count;
	size_t cap;
	uint64_t max;
	uint64_t *bits; /* when dense */
	size_t bits_cap;
	bool dense;
};

void idset_reset(struct idset *s);
void idset_fini(struct idset *s);
void idset_add(struct idset *s, uint64_t id);

/* To be called once, before idset_has(). False: an id stands there twice. */
bool idset_seal(struct idset *s);

bool idset_has_sparse(const struct idset *s, uint64_t id);

static inline bool idset_has(const struct idset *s, uint64_t id)
{
	if (!s->dense)
		return idset_has_sparse(s, id);
	return id <= s->max && s->bits[id / 64] >> (id % 64) & 1;
}

#endif
