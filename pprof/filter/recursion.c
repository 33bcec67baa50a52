/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/filter/recursion.h"

#include "base/pairs.h"

/* One function of a stack: a line of a location. */
struct recursion_step {
	uint32_t name;     /* name of the function, or PPROF_NONE */
	uint32_t location; /* index of the location */
	uint32_t line;     /* number of the line in the location */
	bool kept;
};

/* The stack that is being processed, and what was found in earlier ones. */
struct recursion_pass {
	struct pprof *p;
	enum recursion how;
	VEC(struct recursion_step) steps; /* outermost first */
	/*
	 * By name: number + 1 of the innermost step with this name, for
	 * RECURSION_ALL; else NULL. The elements of names that are not in the
	 * stack are left over from earlier stacks.
	 */
	uint32_t *innermost;
	/*
	 * New locations that have only some of the lines of an existing
	 * location: maps the existing location and a hash of the kept lines to
	 * the index of the new location.
	 */
	struct pairs parts;
	struct growth_meter meter;
	const struct limits *limits;
};

bool recursion_parse(struct str s, enum recursion *out)
{
	if (str_is(s, "direct"))
		*out = RECURSION_DIRECT;
	else if (str_is(s, "all"))
		*out = RECURSION_ALL;
	else if (!s.len)
		*out = RECURSION_KEEP;
	else
		return false;
	return true;
}

/* Charge work and memory to the query's budget. */
static int recursion_meter(struct recursion_pass *x, size_t work,
			   struct err *err)
{
	size_t memory = vec_memory(&x->steps) + pairs_memory(&x->parts) +
			vec_memory(&x->p->locations) + vec_memory(&x->p->lines);

	return limits_meter(x->limits, &x->meter, work, memory, err);
}

/* List the functions of a stack, outermost first. */
static int list_steps(struct recursion_pass *x, const struct pprof_run *stack,
		      struct err *err)
{
	const struct pprof *p = x->p;
	int rc = 0;

	x->steps.count = 0;
	for (uint32_t i = stack->count; i > 0 && !rc; i--) {
		uint32_t at = p->frames.v[stack->first + i - 1];
		struct pprof_run lines = p->locations.v[at].lines;

		if (!lines.count)
			*vec_add(&x->steps) =
				(struct recursion_step){ .name = PPROF_NONE,
							 .location = at };
		for (uint32_t k = lines.count; k > 0; k--) {
			uint32_t f = p->lines.v[lines.first + k - 1].function;

			*vec_add(&x->steps) = (struct recursion_step){
				.name = p->functions.v[f].name,
				.location = at,
				.line = k - 1,
			};
		}
		rc = recursion_meter(x, 1 + lines.count, err);
	}
	return rc;
}

/*
 * Return the index of the innermost step of the recursion that step `i` begins.
 */
static size_t recursion_find_end(const struct recursion_pass *x, size_t i)
{
	uint32_t name = x->steps.v[i].name;

	if (name == PPROF_NONE)
		return i;
	if (x->innermost)
		return x->innermost[name] - 1;
	while (i + 1 < x->steps.count && x->steps.v[i + 1].name == name)
		i++;
	return i;
}

/* Mark the steps that stay. Returns whether any step does not. */
static bool mark_steps(struct recursion_pass *x)
{
	bool removed = false;

	for (size_t i = 0; i < x->steps.count && x->innermost; i++) {
		if (x->steps.v[i].name != PPROF_NONE)
			x->innermost[x->steps.v[i].name] = (uint32_t)i + 1;
	}
	for (size_t i = 0; i < x->steps.count; i++) {
		size_t end = recursion_find_end(x, i);

		x->steps.v[i].kept = true;
		removed = removed || end > i;
		i = end;
	}
	return removed;
}

/* Add a copy of a location that has only the lines of the kept steps. */
static uint32_t copy_location(struct pprof *p, const struct recursion_step *v,
			      uint32_t count)
{
	struct pprof_location l = p->locations.v[v->location];
	struct pprof_run lines = { .first = (uint32_t)p->lines.count };

	/* Lines are innermost first, steps are outermost first. */
	for (uint32_t i = count; i > 0; i--) {
		struct pprof_line line;

		if (!v[i - 1].kept)
			continue;
		line = p->lines.v[l.lines.first + v[i - 1].line];
		*vec_add(&p->lines) = line;
		lines.count++;
	}
	l.lines = lines;
	*vec_add(&p->locations) = l;
	return (uint32_t)p->locations.count - 1;
}

/* Whether location `part` has exactly the lines of the kept steps. */
static bool is_part(const struct pprof *p, uint32_t part,
		    const struct recursion_step *v, uint32_t count)
{
	struct pprof_run got = p->locations.v[part].lines;
	struct pprof_run all = p->locations.v[v->location].lines;
	uint32_t n = 0;

	for (uint32_t i = count; i > 0; i--) {
		const struct pprof_line *want =
			&p->lines.v[all.first + v[i - 1].line];
		const struct pprof_line *have = &p->lines.v[got.first + n];

		if (!v[i - 1].kept)
			continue;
		if (n == got.count || want->function != have->function ||
		    want->line != have->line || want->column != have->column)
			return false;
		n++;
	}
	return n == got.count;
}

/*
 * Return a location that has exactly the lines of the kept steps. `v` has all
 * steps of one location. Equal parts of a location are copied once, unless the
 * hashes of different parts are equal.
 */
static uint32_t take_part(struct recursion_pass *x,
			  const struct recursion_step *v, uint32_t count)
{
	uint32_t hash = count;
	uint32_t *known;

	for (uint32_t i = 0; i < count; i++)
		hash = hash * 31 + v[i].kept;
	known = pairs_at(&x->parts, v->location, hash);
	if (!*known || !is_part(x->p, *known, v, count))
		*known = copy_location(x->p, v, count);
	return *known;
}

/* Write the kept steps back to the stack, location by location. */
static void write_steps(struct recursion_pass *x, struct pprof_run *stack)
{
	struct pprof *p = x->p;
	uint32_t first = stack->first + stack->count;
	uint32_t at = first;
	size_t i = 0;

	while (i < x->steps.count) {
		const struct recursion_step *v = &x->steps.v[i];
		uint32_t lines = p->locations.v[v->location].lines.count;
		uint32_t count = lines ? lines : 1;
		uint32_t kept = 0;

		for (uint32_t k = 0; k < count; k++)
			kept += v[k].kept;
		if (kept == count)
			p->frames.v[--at] = v->location;
		else if (kept)
			p->frames.v[--at] = take_part(x, v, count);
		i += count;
	}
	stack->first = at;
	stack->count = first - at;
}

int filter_recursion(struct pprof *p, enum recursion how,
		     const struct limits *limits, struct err *err)
{
	struct recursion_pass x = { .p = p, .how = how, .limits = limits };
	int rc = 0;

	if (how == RECURSION_KEEP)
		return 0;
	if (how == RECURSION_ALL)
		x.innermost = mem_zalloc(p->strings.strings.count,
					 sizeof(*x.innermost));
	for (size_t i = 0; i < p->stacks.count && !rc; i++) {
		rc = list_steps(&x, &p->stacks.v[i], err);
		if (!rc && mark_steps(&x))
			write_steps(&x, &p->stacks.v[i]);
	}
	mem_free(x.innermost);
	vec_fini(&x.steps);
	pairs_fini(&x.parts);
	return rc;
}
