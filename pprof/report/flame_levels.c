/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/report/flame_levels.h"

#include <stdlib.h>

#include "base/mem.h"

/* The sides of a bar: the base of a difference, and the other one. */
enum {
	SIDE_BASE,
	SIDE_NOW,
	SIDES
};

/* Where a bar is. */
struct bar {
	int64_t x[SIDES];    /* where it begins */
	int64_t next[SIDES]; /* where its next child begins */
	uint32_t node;       /* in the tree */
	uint32_t depth;
	bool is_hidden; /* it has no weight, or its parent is hidden */
};

static int64_t flame_levels_self(const struct flame_node *n, int side)
{
	return side == SIDE_BASE ? n->self_a : n->self;
}

static int64_t flame_levels_total(const struct flame_node *n, int side)
{
	return side == SIDE_BASE ? n->total_a : n->total;
}

/* Place all bars, each after its parent and its siblings. */
static void flame_levels_place(const struct flame *f, struct bar *bars)
{
	for (uint32_t i = 0; i < f->v.count; i++) {
		const struct flame_node *n = &f->v.v[i];
		const struct flame_node *parent = &f->v.v[n->parent];
		struct bar *b = &bars[i];
		struct bar *p = &bars[n->parent];

		b->node = i;
		b->depth = n->depth;
		b->is_hidden = i && (p->is_hidden ||
				     (n->total <= 0 && n->total_a <= 0));
		for (int side = 0; side < SIDES; side++) {
			int64_t total = flame_levels_total(n, side);

			if (i && n->node == FLAME_OTHER)
				/* It is the last one, wherever it is in `f`. */
				b->x[side] = wrap_sub(
					wrap_add(p->x[side],
						 flame_levels_total(parent,
								    side)),
					total);
			else if (i)
				b->x[side] = p->next[side];
			if (i && n->node != FLAME_OTHER)
				p->next[side] = wrap_add(p->next[side], total);
			b->next[side] = wrap_add(b->x[side],
						 flame_levels_self(n, side));
		}
	}
}

/* Order bars by level, and those of a level from left to right. */
static int flame_levels_cmp(const void *a, const void *b)
{
	const struct bar *x = a;
	const struct bar *y = b;

	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	for (int side = SIDES; side--;) {
		if (x->x[side] != y->x[side])
			return x->x[side] < y->x[side] ? -1 : 1;
	}
	return x->node < y->node ? -1 : x->node > y->node;
}

/* Return the index of the name of a node. */
static uint32_t flame_levels_name(struct flame_levels *l,
				  const struct report *r,
				  const struct flame_node *n)
{
	struct str name = n->node == FLAME_OTHER ? str_of("other") :
						   flame_name(r, n);

	/* String 0 of the table is the empty one, which is no name. */
	return strtab_intern(&l->strings, name.len ? name : str_of("unknown")) -
	       1;
}

/* Add a bar to the last level. `ends`: where the bar before it ended. */
static void flame_levels_add(struct flame_levels *l, const struct report *r,
			     const struct flame *f, const struct bar *b,
			     int64_t *ends)
{
	const struct flame_node *n = &f->v.v[b->node];

	for (int side = f->has_base ? SIDE_BASE : SIDE_NOW; side < SIDES;
	     side++) {
		int64_t self = flame_levels_self(n, side);
		int64_t total = flame_levels_total(n, side);

		*vec_add(&l->values) = wrap_sub(b->x[side], ends[side]);
		*vec_add(&l->values) = total;
		*vec_add(&l->values) = self;
		ends[side] = wrap_add(b->x[side], total);
		if (self > l->max_self)
			l->max_self = self;
	}
	*vec_add(&l->values) = flame_levels_name(l, r, n);
}

int flame_levels_init(struct flame_levels *l, const struct report *r,
		      const struct flame *f, struct err *err)
{
	size_t numbers = f->has_base ? FLAME_BAR_DIFF : FLAME_BAR;
	int64_t ends[SIDES] = { 0 };
	uint32_t depth = UINT32_MAX;
	struct bar *bars;
	int rc;

	*l = (struct flame_levels){ .max_self = 0 };
	rc = limits_spend(
		&r->o->limits,
		f->v.count * (sizeof(*bars) + 2 * numbers * sizeof(int64_t)),
		err);
	if (rc)
		return rc;
	bars = mem_zalloc(f->v.count, sizeof(*bars));
	flame_levels_place(f, bars);
	qsort(bars, f->v.count, sizeof(*bars), flame_levels_cmp);
	for (size_t i = 0; i < f->v.count; i++) {
		if (bars[i].is_hidden)
			continue;
		if (bars[i].depth != depth) {
			depth = bars[i].depth;
			*vec_add(&l->starts) = l->values.count;
			memset(ends, 0, sizeof(ends));
		}
		flame_levels_add(l, r, f, &bars[i], ends);
	}
	l->base_total = f->v.v[0].total_a;
	l->now_total = f->v.v[0].total;
	l->total = wrap_add(l->base_total, l->now_total);
	mem_free(bars);
	return 0;
}

void flame_levels_fini(struct flame_levels *l)
{
	strtab_fini(&l->strings);
	vec_fini(&l->values);
	vec_fini(&l->starts);
}
