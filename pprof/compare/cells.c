/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/compare/cells.h"

#include <stdlib.h>

void cells_add(struct cells *c, uint32_t sample, uint32_t column, int64_t v)
{
	uint32_t *slot = pairs_at(&c->index, sample, column);

	if (!*slot) {
		*vec_add(&c->v) =
			(struct cell){ .sample = sample, .column = column };
		*slot = (uint32_t)c->v.count;
	}
	c->v.v[*slot - 1].value = wrap_add(c->v.v[*slot - 1].value, v);
}

size_t cells_samples(const struct cells *c)
{
	size_t samples = 0;

	for (size_t i = 0; i < c->v.count; i++)
		samples = c->v.v[i].sample >= samples ? c->v.v[i].sample + 1 :
							samples;
	return samples;
}

static int compare_cells(const void *a, const void *b)
{
	const struct cell *x = a;
	const struct cell *y = b;

	if (x->sample != y->sample)
		return x->sample < y->sample ? -1 : 1;
	return (x->column > y->column) - (x->column < y->column);
}

uint32_t *cells_sort(struct cells *c, size_t samples)
{
	uint32_t *first = mem_zalloc(samples + 1, sizeof(*first));
	size_t sample = 0;

	pairs_fini(&c->index);
	if (c->v.count)
		qsort(c->v.v, c->v.count, sizeof(*c->v.v), compare_cells);
	for (size_t i = 0; i < c->v.count; i++) {
		while (sample < c->v.v[i].sample)
			first[++sample] = (uint32_t)i;
	}
	while (sample < samples)
		first[++sample] = (uint32_t)c->v.count;
	return first;
}

size_t cells_memory(const struct cells *c)
{
	return vec_memory(&c->v) + pairs_memory(&c->index);
}

void cells_fini(struct cells *c)
{
	vec_fini(&c->v);
	pairs_fini(&c->index);
}
