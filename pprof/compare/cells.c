/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/compare/cells.h"

/* The number of a cell, which is made if there is none. */
static uint32_t find_cell(struct cells *c, uint32_t sample, uint32_t column)
{
	uint32_t *slot = pairs_at(&c->index, sample, column);

	if (!*slot) {
		*vec_add(&c->v) =
			(struct cell){ .sample = sample, .column = column };
		*slot = (uint32_t)c->v.count;
	}
	return *slot;
}

void cells_add(struct cells *c, uint32_t sample, uint32_t column, int64_t v)
{
	uint32_t *last;

	while (c->last.count <= sample)
		*vec_add(&c->last) = 0;
	last = &c->last.v[sample];
	/* The values of an instance come one after another. */
	if (!*last || c->v.v[*last - 1].column != column)
		*last = find_cell(c, sample, column);
	c->v.v[*last - 1].value = wrap_add(c->v.v[*last - 1].value, v);
}

size_t cells_samples(const struct cells *c)
{
	size_t samples = 0;

	for (size_t i = 0; i < c->v.count; i++)
		samples = c->v.v[i].sample >= samples ? c->v.v[i].sample + 1 :
							samples;
	return samples;
}

uint32_t *cells_sort(struct cells *c, size_t samples)
{
	uint32_t *first = mem_zalloc(samples + 2, sizeof(*first));
	size_t count = c->v.count;
	struct cell *sorted = mem_alloc((count + 1) * sizeof(*sorted));

	pairs_fini(&c->index);
	vec_fini(&c->last);
	/* A counting sort: those of sample i begin at first[i + 1] while it runs. */
	for (size_t i = 0; i < count; i++)
		first[c->v.v[i].sample + 2]++;
	for (size_t i = 2; i < samples + 2; i++)
		first[i] += first[i - 1];
	for (size_t i = 0; i < count; i++)
		sorted[first[c->v.v[i].sample + 1]++] = c->v.v[i];
	mem_free(c->v.v);
	c->v.v = sorted;
	c->v.cap = count + 1;
	return first;
}

size_t cells_memory(const struct cells *c)
{
	return vec_memory(&c->v) + vec_memory(&c->last) +
	       pairs_memory(&c->index);
}

void cells_fini(struct cells *c)
{
	vec_fini(&c->v);
	vec_fini(&c->last);
	pairs_fini(&c->index);
}
