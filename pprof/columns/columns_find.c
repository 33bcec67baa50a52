/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/columns/columns_find.h"

#include "pprof/columns/rows.h"

/* Whether a function, or a key's stack, matches; NOT_ASKED: not tested yet. */
enum answer {
	NOT_ASKED,
	NO,
	YES,
};

/*
 * A search for functions by name. It keeps its answers for one dictionary: each
 * name is matched once, and each stack is searched once, for all rows
 * (profiles) that use this dictionary.
 */
struct columns_find {
	const struct regex *name;
	struct limits limits;
	/*
	 * The dictionary of the answers in `functions` and `keys`; NULL: none
	 * yet.
	 */
	const struct dictionary *d;
	/*
	 * Values of `enum answer`: whether each function and each key matches.
	 */
	VEC(uint8_t) functions;
	VEC(uint8_t) keys;
	/* Whether each location has a line in a matching function. */
	VEC(bool) locations;
	bool any; /* whether any function matches */
	struct growth_meter meter;
};

/* Borrow the regular expression. */
struct columns_find *columns_find_new(const struct regex *name,
				      const struct limits *limits)
{
	struct columns_find *f = mem_new(struct columns_find);

	f->name = name;
	f->limits = *limits;
	return f;
}

void columns_find_free(struct columns_find *f)
{
	if (!f)
		return;
	vec_fini(&f->functions);
	vec_fini(&f->keys);
	vec_fini(&f->locations);
	mem_free(f);
}

size_t columns_find_memory(const struct columns_find *f)
{
	return sizeof(*f) + vec_memory(&f->functions) + vec_memory(&f->keys) +
	       vec_memory(&f->locations);
}

/* Make a vector of n elements that are all NOT_ASKED. */
#define not_asked(vec, n)                             \
	do {                                          \
		(vec)->count = 0;                     \
		vec_reserve(vec, (n) + 1);            \
		memset((vec)->v, NOT_ASKED, (n) + 1); \
		(vec)->count = (n);                   \
	} while (0)

/* Whether a line of the location is in a function that matches. */
static bool has_location(const struct columns_find *f,
			 const struct dictionary *d, uint32_t location)
{
	struct pprof_run lines = d->locations.v[location].lines;

	for (uint32_t i = 0; i < lines.count; i++) {
		uint32_t fn = d->lines.v[lines.first + i].function;

		if (f->functions.v[fn] == YES)
			return true;
	}
	return false;
}

/*
 * Decide for each location whether it has a matching function, so that the
 * search of a stack takes a bounded time for each frame.
 */
static int find_locations(struct columns_find *f, const struct dictionary *d,
			  struct err *err)
{
	int rc = 0;

	f->locations.count = 0;
	vec_reserve(&f->locations, d->locations.count);
	for (uint32_t i = 0; i < d->locations.count && !rc; i++) {
		*vec_add(&f->locations) = has_location(f, d, i);
		rc = limits_meter(&f->limits, &f->meter,
				  1 + d->locations.v[i].lines.count, 0, err);
	}
	return rc;
}

/*
 * Use another dictionary: match the name of each function once. After an error,
 * no dictionary is used.
 */
static int find_rows_begin(struct columns_find *f, const struct dictionary *d,
			   struct err *err)
{
	int rc = 0;

	f->any = false;
	not_asked(&f->functions, d->functions.count);
	not_asked(&f->keys, d->keys.count);
	for (size_t i = 0;
	     i < d->functions.count && !rc && !regex_gave_up(f->name); i++) {
		struct str name = dict_str(d, d->functions.v[i].name);
		bool yes = regex_matches(f->name, name);

		f->functions.v[i] = yes ? YES : NO;
		f->any = f->any || yes;
		rc = limits_meter(&f->limits, &f->meter, REGEX_WORK, 0, err);
	}
	if (!rc && f->any)
		rc = find_locations(f, d, err);
	f->d = rc ? NULL : d;
	return rc;
}

/*
 * Set *found to whether the stack of a key has a matching frame. The answer is
 * stored in f->keys.
 */
static int find_rows_key(struct columns_find *f, uint32_t key, bool *found,
			 struct err *err)
{
	const struct dict_node *nodes = f->d->nodes.v;
	uint8_t *known = &f->keys.v[key];
	uint32_t n = f->d->keys.v[key].stack;
	size_t frames = 0;

	if (*known == NOT_ASKED) {
		while (n != DICT_ROOT && !f->locations.v[nodes[n].location]) {
			n = nodes[n].parent;
			frames++;
		}
		*known = n == DICT_ROOT ? NO : YES;
	}
	*found = *known == YES;
	return limits_meter(&f->limits, &f->meter, 1 + frames, 0, err);
}

int columns_find_row(struct columns_find *f, const struct codec_rows *rows,
		     size_t i, bool *found, struct err *err)
{
	const struct row *row = &rows->group->rows[i];
	int rc = f->d == rows->d ? 0 : find_rows_begin(f, rows->d, err);

	*found = false;
	/* If no function matches, no stack has to be searched. */
	for (size_t k = 0; k < row->samples && f->any && !rc && !*found; k++)
		rc = find_rows_key(f, row->keys[k], found, err);
	return rc;
}

/*
 * Set *found to whether a sample has a frame in a function whose element in
 * `named` is true. The locations are looked at only once, because any number of
 * stacks may contain them.
 */
static int find_named_frame(const struct pprof *p, const bool *named,
			    const struct limits *limits, bool *found,
			    struct err *err)
{
	bool *hit = mem_zalloc(p->locations.count + 1, sizeof(*hit));
	struct growth_meter meter = { 0 };
	int rc = 0;

	for (size_t i = 0; i < p->locations.count && !rc; i++) {
		struct pprof_run lines = p->locations.v[i].lines;

		for (uint32_t n = 0; n < lines.count && !hit[i]; n++)
			hit[i] = named[p->lines.v[lines.first + n].function];
		rc = limits_meter(limits, &meter, 1 + lines.count, 0, err);
	}
	for (size_t i = 0; i < p->samples.count && !*found && !rc; i++) {
		const struct pprof_run *stack = pprof_stack(p, i);

		for (uint32_t k = 0; k < stack->count && !*found; k++)
			*found = hit[p->frames.v[stack->first + k]];
		rc = limits_meter(limits, &meter, 1 + stack->count, 0, err);
	}
	mem_free(hit);
	return rc;
}

/* Match the name of each function once, not once for each frame. */
int pprof_has_function(const struct pprof *p, const struct regex *name,
		       const struct limits *limits, bool *found,
		       struct err *err)
{
	bool *named = mem_zalloc(p->functions.count + 1, sizeof(*named));
	struct growth_meter meter = { 0 };
	bool any = false;
	int rc = 0;

	*found = false;
	for (size_t i = 0;
	     i < p->functions.count && !rc && !regex_gave_up(name); i++) {
		named[i] = regex_matches(name,
					 pprof_str(p, p->functions.v[i].name));
		any = any || named[i];
		rc = limits_meter(limits, &meter, REGEX_WORK, 0, err);
	}
	if (!rc && any)
		rc = find_named_frame(p, named, limits, found, err);
	mem_free(named);
	return rc;
}
