/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/rows/group.h"

/* Reserve memory, so that pointers into empty columns are valid. */
void colgroup_reset(struct colgroup *g)
{
	g->count = 0;
	g->types = 0;
	g->keys.count = 0;
	g->values.count = 0;
	buf_reset(&g->patches);
	vec_reserve(&g->keys, 1);
	vec_reserve(&g->values, 1);
}

void colgroup_fini(struct colgroup *g)
{
	vec_fini(&g->keys);
	vec_fini(&g->values);
	buf_fini(&g->patches);
}

size_t colgroup_memory(const struct colgroup *g)
{
	return vec_memory(&g->keys) + vec_memory(&g->values) + g->patches.cap;
}

/*
 * The values of a row for one sample type are consecutive. Those for the next
 * sample type begin keys.count elements later.
 */
void colgroup_link(struct colgroup *g)
{
	size_t at = 0;

	for (size_t i = 0; i < g->count; i++) {
		struct row *row = &g->rows[i];

		row->keys = g->keys.v + at;
		row->values = g->values.v + at;
		row->stride = g->keys.count;
		row->types = g->types;
		at += row->samples;
	}
}

/*
 * Patch are stored without gaps, so a patch begins at the sum of the lengths
 * of the patches before it.
 */
struct bytes colgroup_patch(const struct colgroup *g, size_t row)
{
	size_t at = 0;

	for (size_t i = 0; i < row; i++)
		at += g->patch_lens[i];
	return (struct bytes){ .ptr = g->patches.ptr + at,
			       .len = g->patch_lens[row] };
}

struct colgroup_coder *colgroup_coder_new(void)
{
	struct colgroup_coder *c = mem_new(struct colgroup_coder);

	c->zstd = zstd_new();
	return c;
}

void colgroup_coder_free(struct colgroup_coder *c)
{
	if (!c)
		return;
	zstd_free(c->zstd);
	unsample_fini(&c->unsample);
	vec_fini(&c->successors);
	vec_fini(&c->previous);
	vec_fini(&c->estimates);
	buf_fini(&c->head);
	buf_fini(&c->column);
	buf_fini(&c->other);
	for (size_t i = 0; i < ARRAY_SIZE(c->parts); i++)
		buf_fini(&c->parts[i]);
	mem_free(c);
}

/*
 * Count allocated sizes, not used ones, because allocated memory is charged to
 * the budget of queries.
 */
size_t colgroup_coder_memory(const struct colgroup_coder *c)
{
	size_t sum = sizeof(*c) + vec_memory(&c->unsample.rates) +
		     vec_memory(&c->successors) + vec_memory(&c->previous) +
		     vec_memory(&c->estimates) + c->head.cap + c->column.cap +
		     c->other.cap;

	for (size_t i = 0; i < ARRAY_SIZE(c->parts); i++)
		sum += c->parts[i].cap;
	return sum;
}

/*
 * The array has one element more than there are keys, for "no key". The arrays
 * of the next two functions have this element, too.
 */
int64_t *colgroup_previous(struct colgroup_coder *c, size_t keys)
{
	c->previous.count = 0;
	vec_reserve(&c->previous, keys + 1);
	memset(c->previous.v, 0, (keys + 1) * sizeof(*c->previous.v));
	return c->previous.v;
}

/* The array is zeroed, so that the member `made` is false for every key. */
struct colgroup_estimate *colgroup_estimates(struct colgroup_coder *c,
					     size_t keys)
{
	c->estimates.count = 0;
	vec_reserve(&c->estimates, keys + 1);
	memset(c->estimates.v, 0, (keys + 1) * sizeof(*c->estimates.v));
	return c->estimates.v;
}

/* The array is zeroed, because 0 stands for the default successor, key + 1. */
uint32_t *colgroup_successors(struct colgroup_coder *c, size_t keys)
{
	c->successors.count = 0;
	vec_reserve(&c->successors, keys + 1);
	memset(c->successors.v, 0, (keys + 1) * sizeof(*c->successors.v));
	return c->successors.v;
}
