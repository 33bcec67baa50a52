/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/report/flame_path.h"

#include "model/regex.h"

/* Find the nodes whose names match the option `pivot`. */
static int match_pivots(struct flame_path *x, const struct regex *pivot,
			struct err *err)
{
	const struct nodes *n = &x->r->nodes;
	struct growth_meter meter = { 0 };
	bool any = false;
	int rc = 0;

	x->pivots = mem_zalloc(n->v.count, sizeof(*x->pivots));
	for (size_t i = 0; i < n->v.count && !rc; i++) {
		x->pivots[i] = regex_matches(pivot, n->v.v[i].text);
		any = any || x->pivots[i];
		rc = limits_meter(&x->r->o->limits, &meter, REGEX_WORK, 0, err);
		if (!rc)
			rc = regex_check_steps(pivot, "pivot", err);
	}
	if (!rc && !any)
		rc = err_set(err, ERR_NOTFOUND,
			     "no frame matches the pivot \"%.*s\"",
			     STR_ARG(x->r->o->pivot));
	return rc;
}

int flame_path_init(struct flame_path *x, const struct report *r,
		    enum flame_walk walk, struct err *err)
{
	struct regex *pivot = NULL;
	int rc;

	*x = (struct flame_path){ .r = r, .walk = walk };
	if (walk != FLAME_CALLEES && walk != FLAME_CALLERS)
		return 0;
	rc = regex_new_search(r->o->pivot, &pivot, err);
	if (rc)
		return err_wrap(err, rc, "pivot");
	rc = match_pivots(x, pivot, err);
	regex_free(pivot);
	return rc;
}

void flame_path_fini(struct flame_path *x)
{
	mem_free(x->pivots);
	vec_fini(&x->steps);
}

/* List all frames of a stack, outermost first. */
static int list_frames(struct flame_path *x, const struct pprof_run *stack,
		       struct growth_meter *meter, struct err *err)
{
	const struct nodes *n = &x->r->nodes;
	const uint32_t *frames = x->r->p->frames.v + stack->first;
	int rc = 0;

	x->steps.count = 0;
	for (uint32_t i = stack->count; i > 0 && !rc; i--) {
		struct pprof_run run = n->locations.v[frames[i - 1]];
		const uint32_t *v = n->of_lines.v + run.first;

		for (uint32_t k = run.count; k > 0; k--)
			*vec_add(&x->steps) =
				(struct flame_step){ v[k - 1], k != run.count };
		rc = limits_meter(&x->r->o->limits, meter, 1 + run.count,
				  vec_memory(&x->steps), err);
	}
	return rc;
}

/* Return the number of the outermost frame that matches the pivot. */
static size_t find_pivot(const struct flame_path *x)
{
	size_t i = 0;

	while (i < x->steps.count && !x->pivots[x->steps.v[i].node])
		i++;
	return i;
}

int flame_path_take(struct flame_path *x, size_t sample,
		    struct growth_meter *meter, struct err *err)
{
	int rc = list_frames(x, pprof_stack(x->r->p, sample), meter, err);
	size_t pivot;

	x->first = 0;
	x->count = x->steps.count;
	if (rc || !x->pivots)
		return rc;
	pivot = find_pivot(x);
	if (pivot == x->steps.count) {
		x->count = 0;
	} else if (x->walk == FLAME_CALLEES) {
		x->first = pivot;
		x->count -= pivot;
	} else {
		x->count = pivot + 1;
	}
	return 0;
}

const struct flame_step *flame_path_step(const struct flame_path *x, size_t i)
{
	bool outwards = x->walk == FLAME_OUTWARDS || x->walk == FLAME_CALLERS;

	return &x->steps.v[x->first + (outwards ? x->count - 1 - i : i)];
}
