/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/columns_find.h"

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
	bool any; /* whether any function matches */
};

/* Borrows the regular expression. */
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
	mem_free(f);
}

size_t columns_find_memory(const struct columns_find *f)
{
	return sizeof(*f) + vec_memory(&f->functions) + vec_memory(&f->keys);
}

/* Make a vector of n elements that are all NOT_ASKED. */
#define not_asked(vec, n)                             \
	do {                                          \
		(vec)->count = 0;                     \
		vec_reserve(vec, (n) + 1);            \
		memset((vec)->v, NOT_ASKED, (n) + 1); \
		(vec)->count = (n);                   \
	} while (0)

/*
 * Use another dictionary: match the name of each function once. After an error,
 * no dictionary is used.
 */
static int find_rows_begin(struct columns_find *f, const struct dictionary *d,
			   struct err *err)
{
	struct growth_meter meter = { 0 };
	int rc = 0;

	f->any = false;
	not_asked(&f->functions, d->functions.count);
	not_asked(&f->keys, d->keys.count);
	for (size_t i = 0; i < d->functions.count && !rc; i++) {
		struct str name = dict_str(d, d->functions.v[i].name);
		bool yes = regex_matches(f->name, name);

		f->functions.v[i] = yes ? YES : NO;
		f->any = f->any || yes;
		rc = limits_meter(&f->limits, &meter, REGEX_WORK, 0, err);
	}
	f->d = rc ? NULL : d;
	return rc;
}

/* Whether a line of the location is in a function that matches. */
static bool has_location(const struct columns_find *f, uint32_t location)
{
	struct pprof_run lines = f->d->locations.v[location].lines;

	for (uint32_t i = 0; i < lines.count; i++) {
		uint32_t fn = f->d->lines.v[lines.first + i].function;

		if (f->functions.v[fn] == YES)
			return true;
	}
	return false;
}

/*
 * Whether the stack of a key has a matching frame. The answer is stored in
 * f->keys.
 */
static bool find_rows_has_key(struct columns_find *f, uint32_t key)
{
	const struct dict_node *nodes = f->d->nodes.v;
	uint8_t *known = &f->keys.v[key];
	uint32_t n = f->d->keys.v[key].stack;

	if (*known != NOT_ASKED)
		return *known == YES;
	while (n != DICT_ROOT && !has_location(f, nodes[n].location))
		n = nodes[n].parent;
	*known = n == DICT_ROOT ? NO : YES;
	return *known == YES;
}

int columns_find_row(struct columns_find *f, const struct codec_rows *rows,
		     size_t i, bool *found, struct err *err)
{
	const struct row *row = &rows->group->rows[i];
	int rc = f->d == rows->d ? 0 : find_rows_begin(f, rows->d, err);

	*found = false;
	/* If no function matches, no stack has to be searched. */
	for (size_t k = 0; k < row->samples && f->any && !rc && !*found; k++)
		*found = find_rows_has_key(f, row->keys[k]);
	return rc;
}

/*
 * Whether a frame of the stack is in a function whose element in `named` is
 * true.
 */
static bool has_named_frame(const struct pprof *p,
			    const struct pprof_run *stack, const bool *named)
{
	for (uint32_t k = 0; k < stack->count; k++) {
		struct pprof_run lines =
			p->locations.v[p->frames.v[stack->first + k]].lines;

		for (uint32_t n = 0; n < lines.count; n++) {
			if (named[p->lines.v[lines.first + n].function])
				return true;
		}
	}
	return false;
}

/* Matches the name of each function once, not once for each frame. */
int pprof_has_function(const struct pprof *p, const struct regex *name,
		       const struct limits *limits, bool *found,
		       struct err *err)
{
	bool *named = mem_zalloc(p->functions.count + 1, sizeof(*named));
	struct growth_meter meter = { 0 };
	int rc = 0;

	*found = false;
	for (size_t i = 0; i < p->functions.count && !rc; i++) {
		named[i] = regex_matches(name,
					 pprof_str(p, p->functions.v[i].name));
		rc = limits_meter(limits, &meter, REGEX_WORK, 0, err);
	}
	for (size_t i = 0; i < p->samples.count && !*found && !rc; i++)
		*found = has_named_frame(p, pprof_stack(p, i), named);
	mem_free(named);
	return rc;
}
