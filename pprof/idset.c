/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/idset.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define IDS_KEPT ((size_t)128 * 1024)

void idset_reset(struct idset *s)
{
	/* What a giant needed is given back. */
	if (s->cap > IDS_KEPT || s->bits_cap > IDS_KEPT)
		idset_fini(s);
	s->count = 0;
	s->max = 0;
}

void idset_fini(struct idset *s)
{
	mem_free(s->ids);
	mem_free(s->bits);
	*s = (struct idset){ 0 };
}

void idset_add(struct idset *s, uint64_t id)
{
	s->ids = mem_grow(s->ids, s->count, &s->cap, sizeof(*s->ids));
	s->ids[s->count++] = id;
	s->max = id > s->max ? id : s->max;
}

static bool seal_dense(struct idset *s)
{
	size_t words = (size_t)(s->max / 64) + 1;

	if (words > s->bits_cap) {
		s->bits = mem_realloc(s->bits, words, sizeof(*s->bits));
		s->bits_cap = words;
	}
	memset(s->bits, 0, words * sizeof(*s->bits));
	for (size_t i = 0; i < s->count; i++) {
		uint64_t *word = &s->bits[s->ids[i] / 64];
		uint64_t bit = (uint64_t)1 << (s->ids[i] % 64);

		if (*word & bit)
			return false;
		*word |= bit;
	}
	return true;
}

static int by_id(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

bool idset_seal(struct idset *s)
{
	s->dense = s->max / 16 <= s->count + 64;
	if (s->dense)
		return seal_dense(s);
	qsort(s->ids, s->count, sizeof(*s->ids), by_id);
	for (size_t i = 1; i < s->count; i++) {
		if (s->ids[i] == s->ids[i - 1])
			return false;
	}
	return true;
}

bool idset_has_sparse(const struct idset *s, uint64_t id)
{
	return s->count &&
	       bsearch(&id, s->ids, s->count, sizeof(*s->ids), by_id);
}
