/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/filter/prune.h"

#include "pprof/filter/search_work.h"

/*
 * Return the function name without a leading "." and without the arguments of
 * a C++ function; parentheses that belong to the name, as in "operator()", are
 * kept. The expressions in profiles are written for names in this form.
 */
static struct str prune_simplify(struct str name)
{
	static const char *const kept[] = { "(anonymous namespace)",
					    "operator()" };
	size_t i = 0;

	if (str_starts(name, str_of("."))) {
		name.ptr++;
		name.len--;
	}
	while (i < name.len) {
		struct str rest = { name.ptr + i, name.len - i };
		size_t skip = 1;

		for (size_t k = 0; k < ARRAY_SIZE(kept); k++) {
			if (str_starts(rest, str_of(kept[k])))
				skip = strlen(kept[k]);
		}
		if (skip == 1 && *rest.ptr == '(')
			return (struct str){ name.ptr, i };
		i += skip;
	}
	return name;
}

/*
 * The expressions for the functions to remove and for exceptions to keep, and a
 * cache of the results by function.
 */
struct pruner {
	struct regex *drop;
	struct regex *keep;
	uint8_t *known; /* by function: 0 unknown, 1 keep, 2 remove */
	struct search_work work;
};

/*
 * Return whether the expression matches. An expression that took too many
 * steps is ignored from then on (docs/decisions.md, 45).
 */
static bool prune_matches(const struct regex *r, struct str name)
{
	return r && !regex_gave_up(r) && regex_matches(r, name);
}

/*
 * Return whether the function of a line is to be removed: its name matches the
 * expression `drop` but not `keep`. Accounts for the search: one location may
 * have any number of lines.
 */
static bool is_pruned(struct pruner *x, const struct pprof *p,
		      const struct pprof_line *l)
{
	struct str name = pprof_str(p, p->functions.v[l->function].name);
	uint8_t *known = &x->known[l->function];

	if (!search_work_charge(&x->work, *known ? 1 : REGEX_WORK))
		return false;
	if (*known)
		return *known == 2;
	name = prune_simplify(name);
	*known = name.len && prune_matches(x->drop, name) &&
				 !prune_matches(x->keep, name) ?
			 2 :
			 1;
	return *known == 2;
}

/* The part of a location that is pruned. */
enum prune {
	PRUNE_NOT,   /* nothing is pruned */
	PRUNE_BELOW, /* some inner lines; the outer lines are kept */
	PRUNE_WHOLE, /* all lines: the outermost line is pruned */
};

/*
 * Find the outermost line of a location whose function is to be pruned
 * (removed), and decide which part of the location is pruned. For PRUNE_BELOW,
 * removes that line and the lines that it called. The last line of a location
 * is the outermost.
 */
static enum prune prune_lines(struct pruner *x, const struct pprof *p,
			      struct pprof_location *l)
{
	for (uint32_t i = l->lines.count; i > 0; i--) {
		if (!is_pruned(x, p, &p->lines.v[l->lines.first + i - 1]))
			continue;
		if (i == l->lines.count)
			return PRUNE_WHOLE;
		l->lines.first += i;
		l->lines.count -= i;
		return PRUNE_BELOW;
	}
	return PRUNE_NOT;
}

/*
 * Remove the outermost pruned frame that has a caller which is not pruned, and
 * all frames that it called, directly or not. As in pprof, a stack that
 * consists only of pruned frames is not changed.
 */
static void prune_stack(struct pprof *p, struct pprof_run *s,
			const uint8_t *what)
{
	bool user = false;

	for (uint32_t i = s->count; i > 0; i--) {
		uint8_t w = what[p->frames.v[s->first + i - 1]];
		uint32_t cut = w == PRUNE_WHOLE ? i : i - 1;

		if (w == PRUNE_NOT) {
			user = true;
		} else if (user) {
			s->first += cut;
			s->count -= cut;
			return;
		}
	}
}

/*
 * Decide once for each location which of its lines are pruned, then shortens
 * the stacks.
 */
static int prune_apply(struct pprof *p, struct pruner *x)
{
	uint8_t *what = mem_zalloc(p->locations.count, 1);

	for (size_t i = 0; i < p->locations.count && !x->work.rc; i++)
		what[i] = (uint8_t)prune_lines(x, p, &p->locations.v[i]);
	for (size_t i = 0; i < p->stacks.count && !x->work.rc; i++)
		prune_stack(p, &p->stacks.v[i], what);
	mem_free(what);
	return x->work.rc;
}

/*
 * Compile ^(text)$: the expressions of a profile match whole names. An empty
 * text leaves *out NULL.
 */
static int prune_copy_whole(struct str text, struct regex **out)
{
	char *pattern = mem_printf("^(%.*s)$", STR_ARG(text));
	int rc = text.len ? regex_new_search(str_of(pattern), out, NULL) : 0;

	mem_free(pattern);
	return rc;
}

int filter_uninteresting(struct pprof *p, const struct limits *limits,
			 struct err *err)
{
	struct pruner x = { .work = { .limits = limits, .err = err } };
	int rc = 0;

	if (!pprof_str(p, p->drop_frames).len)
		return 0;
	if (!prune_copy_whole(pprof_str(p, p->drop_frames), &x.drop) &&
	    !prune_copy_whole(pprof_str(p, p->keep_frames), &x.keep)) {
		x.known = mem_zalloc(p->functions.count, 1);
		rc = prune_apply(p, &x);
	}
	regex_free(x.drop);
	regex_free(x.keep);
	mem_free(x.known);
	return rc;
}

/*
 * Remove the lines of a location that its innermost matching line called.
 * Returns whether any line matches.
 */
static bool cut_inside(struct pruner *x, const struct pprof *p,
		       struct pprof_location *l)
{
	for (uint32_t i = 0; i < l->lines.count; i++) {
		if (is_pruned(x, p, &p->lines.v[l->lines.first + i])) {
			l->lines.first += i;
			l->lines.count -= i;
			return true;
		}
	}
	return false;
}

/*
 * Remove from every stack the frames that were called, directly or not, by the
 * matching frame nearest to the leaf; stacks without a match are not changed.
 */
static int prune_from(struct pprof *p, struct pruner *x)
{
	bool *found = mem_zalloc(p->locations.count, sizeof(bool));

	for (size_t i = 0; i < p->locations.count && !x->work.rc; i++)
		found[i] = cut_inside(x, p, &p->locations.v[i]);
	for (size_t i = 0; i < p->stacks.count && !x->work.rc; i++) {
		struct pprof_run *s = &p->stacks.v[i];
		uint32_t k = 0;

		while (k < s->count && !found[p->frames.v[s->first + k]])
			k++;
		if (k == s->count)
			continue;
		s->first += k;
		s->count -= k;
	}
	mem_free(found);
	return x->work.rc;
}

int filter_prune_from(struct pprof *p, struct str pattern,
		      const struct limits *limits, struct err *err)
{
	struct pruner x = { .work = { .limits = limits, .err = err } };
	int rc;

	if (!pattern.len)
		return 0;
	rc = regex_new_search(pattern, &x.drop, err);
	if (rc)
		return err_wrap(err, rc, "prune_from");
	x.known = mem_zalloc(p->functions.count, 1);
	rc = prune_from(p, &x);
	if (!rc)
		rc = regex_check_steps(x.drop, "prune_from", err);
	regex_free(x.drop);
	mem_free(x.known);
	return rc;
}
