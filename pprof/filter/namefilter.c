/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/filter/namefilter.h"

#include "pprof/filter/prune.h"
#include "pprof/filter/search_work.h"

/*
 * A regular expression, with a cache of the results. Names repeat, and a search
 * costs far more than a lookup in the cache.
 */
struct pattern {
	const char *name;    /* name of the filter, for messages */
	struct regex *regex; /* compiled expression; NULL: not set */
	/* For each string, by its index: 0 unknown, 1 no match, 2 match. */
	uint8_t *known;
};

/* The expressions of one filter, and whether the filter matched something. */
struct patterns {
	const char *name; /* name of the filter, for messages */
	struct pattern v[FILTER_TEXTS];
	size_t count; /* 0: the filter is not set */
	bool met;
};

/*
 * Compile `text`, the expression of the filter called `name`; an empty text
 * leaves the pattern unset. ERR_INVALID: the expression is malformed.
 */
static int pattern_init(struct pattern *x, const char *name, struct str text,
			const struct pprof *p, struct err *err)
{
	int rc;

	*x = (struct pattern){ .name = name };
	if (!text.len)
		return 0;
	rc = regex_new_search(text, &x->regex, err);
	if (rc)
		return err_wrap(err, rc, "%s", name);
	x->known = mem_zalloc(p->strings.strings.count, 1);
	return 0;
}

/* Free a pattern, set or unset. */
static void pattern_fini(struct pattern *x)
{
	regex_free(x->regex);
	mem_free(x->known);
}

/*
 * Compile the expressions of the filter called `name`. ERR_INVALID: one of
 * them is malformed; even then the patterns must be freed.
 */
static int patterns_init(struct patterns *x, const char *name,
			 const struct str *texts, const struct pprof *p,
			 struct err *err)
{
	int rc = 0;

	*x = (struct patterns){ .name = name };
	while (!rc && x->count < FILTER_TEXTS && texts[x->count].len) {
		rc = pattern_init(&x->v[x->count], name, texts[x->count], p,
				  err);
		x->count++;
	}
	return rc;
}

/* Free the patterns of a filter. */
static void patterns_fini(struct patterns *x)
{
	for (size_t i = 0; i < x->count; i++)
		pattern_fini(&x->v[i]);
}

/* Some patterns, of which any may match, and the work of the searches. */
struct any_of {
	const struct pattern *v;
	size_t count;
	struct search_work *work;
};

/*
 * Return whether any of the patterns matches string s; false after an error.
 * Accounts for each search: one location may have any number of names.
 */
static bool hits_string(struct any_of x, const struct pprof *p, uint32_t s)
{
	for (size_t i = 0; i < x.count && search_work_charge(x.work, 1); i++) {
		const struct pattern *y = &x.v[i];

		if (!y->known[s])
			y->known[s] = 1 + search_work_matches(x.work, y->regex,
							      y->name,
							      pprof_str(p, s));
		if (y->known[s] == 2)
			return true;
	}
	return false;
}

/* Return whether any pattern matches the function or the file of a line. */
static bool hits_line(struct any_of x, const struct pprof *p,
		      const struct pprof_line *l)
{
	const struct pprof_function *f = &p->functions.v[l->function];

	return hits_string(x, p, f->name) || hits_string(x, p, f->file);
}

/*
 * Return whether any pattern matches the file of the location's mapping: then
 * all lines of the location count as matches.
 */
static bool hits_mapping(struct any_of x, const struct pprof *p,
			 const struct pprof_location *l)
{
	return l->mapping != PPROF_NONE &&
	       hits_string(x, p, p->mappings.v[l->mapping].file);
}

/* Return whether any of the patterns matches any name of a location. */
static bool hits_location(struct any_of x, const struct pprof *p,
			  const struct pprof_location *l)
{
	for (uint32_t i = 0; i < l->lines.count; i++) {
		if (hits_line(x, p, &p->lines.v[l->lines.first + i]))
			return true;
	}
	return hits_mapping(x, p, l);
}

/* Return all expressions of a filter. */
static struct any_of all_of(const struct patterns *x, struct search_work *work)
{
	return (struct any_of){ x->v, x->count, work };
}

/*
 * Remove lines from a location: keeps the lines that match any pattern if
 * `hit` is true, and the lines that match none if `hit` is false.
 */
static void keep_lines(struct any_of x, struct pprof *p,
		       struct pprof_location *l, bool hit)
{
	struct pprof_line *v = p->lines.v + l->lines.first;
	uint32_t kept = 0;

	if (hits_mapping(x, p, l)) {
		if (!hit)
			l->lines.count = 0;
		return;
	}
	for (uint32_t i = 0; i < l->lines.count; i++) {
		if (hits_line(x, p, &v[i]) == hit)
			v[kept++] = v[i];
	}
	l->lines.count = kept;
}

/*
 * The result of the filters `focus` and `ignore` for a location: a bit for each
 * expression of `focus` that matches, or IGNORED if `ignore` matches, so that
 * the location's samples are dropped.
 */
#define IGNORED (1U << FILTER_TEXTS)

/* The compiled filters, and their work. */
struct name_patterns {
	struct patterns focus;
	struct patterns ignore;
	struct patterns hide;
	struct patterns show;
	struct pattern show_from;
	struct search_work work;
};

/* Apply the filters `ignore` and `focus` to a location. */
static uint16_t namefilter_judge(struct name_patterns *n, const struct pprof *p,
				 const struct pprof_location *l)
{
	uint16_t bits = 0;

	if (hits_location(all_of(&n->ignore, &n->work), p, l)) {
		n->ignore.met = true;
		return IGNORED;
	}
	for (size_t i = 0; i < n->focus.count; i++) {
		struct any_of one = { &n->focus.v[i], 1, &n->work };

		if (hits_location(one, p, l))
			bits |= (uint16_t)(1U << i);
	}
	n->focus.met = n->focus.met || bits;
	return bits;
}

/*
 * Apply the filters `hide` and `show` to a location. Returns whether the
 * location is hidden, because the filters removed all its lines.
 */
static bool hide_lines(struct name_patterns *n, struct pprof *p,
		       struct pprof_location *l)
{
	struct any_of hide = all_of(&n->hide, &n->work);
	bool hidden = false;

	if (hits_location(hide, p, l)) {
		n->hide.met = true;
		keep_lines(hide, p, l, false);
		hidden = !l->lines.count;
	}
	if (n->show.count) {
		keep_lines(all_of(&n->show, &n->work), p, l, true);
		hidden = hidden || !l->lines.count;
		n->show.met = n->show.met || l->lines.count;
	}
	return hidden;
}

/*
 * Return whether a stack is kept: for each of the `wanted` bits it has a
 * location with that bit, and it has no IGNORED location. An empty stack is not
 * kept.
 */
static bool is_focused(const uint32_t *frames, uint32_t count,
		       const uint16_t *verdicts, uint16_t wanted)
{
	uint16_t bits = 0;

	for (uint32_t i = 0; i < count; i++)
		bits |= verdicts[frames[i]];
	return count && bits == wanted;
}

/* Remove hidden frames from a stack, in place. */
static void drop_frames(struct pprof *p, struct pprof_run *stack,
			const bool *hidden)
{
	uint32_t *frames = p->frames.v + stack->first;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < stack->count; i++) {
		if (!hidden[frames[i]])
			frames[kept++] = frames[i];
	}
	stack->count = kept;
}

/*
 * Apply the filters to each location once; apply_names() combines the results
 * for each stack.
 */
static int judge_locations(struct pprof *p, struct name_patterns *n,
			   uint16_t *verdicts, bool *hidden)
{
	for (size_t i = 0; i < p->locations.count && !n->work.rc; i++) {
		struct pprof_location *l = &p->locations.v[i];

		verdicts[i] = namefilter_judge(n, p, l);
		hidden[i] = hide_lines(n, p, l);
	}
	return n->work.rc;
}

/*
 * Apply the filters `focus`, `ignore`, `hide` and `show`. Each location is
 * matched with `focus` before `hide` removes lines of the location.
 */
static int apply_names(struct pprof *p, struct name_patterns *n)
{
	int rc;
	uint16_t wanted = (uint16_t)((1U << n->focus.count) - 1);
	uint16_t *verdicts = mem_zalloc(p->locations.count, sizeof(*verdicts));
	bool *hidden = mem_zalloc(p->locations.count, sizeof(bool));
	bool *keep = mem_zalloc(p->stacks.count, sizeof(bool));

	rc = judge_locations(p, n, verdicts, hidden);
	for (size_t i = 0; i < p->stacks.count && !rc; i++) {
		struct pprof_run *s = &p->stacks.v[i];

		if (!is_focused(p->frames.v + s->first, s->count, verdicts,
				wanted))
			continue;
		drop_frames(p, s, hidden);
		keep[i] = s->count;
	}
	pprof_keep(p, keep, NULL);
	mem_free(verdicts);
	mem_free(hidden);
	mem_free(keep);
	return rc;
}

/*
 * Remove from a location the callers of its outermost line that matches.
 * Returns whether the location matches. If the file of the mapping matches, all
 * lines match: the outermost of them has no callers in the location, so nothing
 * is removed.
 */
static bool cut_outside(struct any_of one, const struct pprof *p,
			struct pprof_location *l)
{
	if (hits_mapping(one, p, l))
		return true;
	for (uint32_t i = l->lines.count; i > 0; i--) {
		if (hits_line(one, p, &p->lines.v[l->lines.first + i - 1])) {
			l->lines.count = i;
			return true;
		}
	}
	return false;
}

/*
 * Apply show_from: removes the callers of the outermost frame that matches,
 * and the samples without a match. Returns whether anything matched.
 */
static bool apply_show_from(struct pprof *p, struct name_patterns *n)
{
	struct any_of one = { &n->show_from, 1, &n->work };
	bool *found = mem_zalloc(p->locations.count, sizeof(bool));
	bool *keep = mem_zalloc(p->stacks.count, sizeof(bool));
	bool any = false;

	for (size_t i = 0; i < p->locations.count && !n->work.rc; i++) {
		found[i] = cut_outside(one, p, &p->locations.v[i]);
		any = any || found[i];
	}
	for (size_t i = 0; i < p->stacks.count; i++) {
		struct pprof_run *s = &p->stacks.v[i];

		while (s->count && !found[p->frames.v[s->first + s->count - 1]])
			s->count--;
		keep[i] = s->count;
	}
	pprof_keep(p, keep, NULL);
	mem_free(found);
	mem_free(keep);
	return any;
}

/*
 * Add the filter called `name` to *none unless the filter matched something.
 */
static void namefilter_list_unmatched(struct no_match *none, bool matched,
				      const char *name)
{
	if (!matched && none->count < ARRAY_SIZE(none->names))
		none->names[none->count++] = name;
}

/* List a filter in *none if it is set but matched nothing. */
static void patterns_list_unmatched(struct no_match *none,
				    const struct patterns *x)
{
	namefilter_list_unmatched(none, !x->count || x->met, x->name);
}

/* List in *none the filters that are set but matched nothing. */
static void report_names(const struct name_patterns *n, struct no_match *none)
{
	patterns_list_unmatched(none, &n->focus);
	patterns_list_unmatched(none, &n->ignore);
	patterns_list_unmatched(none, &n->hide);
	patterns_list_unmatched(none, &n->show);
}

/*
 * Compile all expressions. ERR_INVALID: an expression is malformed; even then
 * the patterns must be freed.
 */
static int compile_names(struct name_patterns *n, const struct name_filter *f,
			 const struct pprof *p, struct err *err)
{
	int rc = patterns_init(&n->focus, "focus", f->focus, p, err);

	if (!rc)
		rc = patterns_init(&n->ignore, "ignore", f->ignore, p, err);
	if (!rc)
		rc = patterns_init(&n->hide, "hide", f->hide, p, err);
	if (!rc)
		rc = patterns_init(&n->show, "show", f->show, p, err);
	if (!rc)
		rc = pattern_init(&n->show_from, "show_from", f->show_from, p,
				  err);
	return rc;
}

int filter_names(struct pprof *p, const struct name_filter *f,
		 const struct limits *limits, struct no_match *none,
		 struct err *err)
{
	struct name_patterns n = { .work = { .limits = limits, .err = err } };
	int rc = compile_names(&n, f, p, err);

	if (!rc)
		rc = apply_names(p, &n);
	if (!rc) {
		report_names(&n, none);
		if (n.show_from.regex)
			namefilter_list_unmatched(none, apply_show_from(p, &n),
						  "show_from");
		rc = n.work.rc;
	}
	patterns_fini(&n.focus);
	patterns_fini(&n.ignore);
	patterns_fini(&n.hide);
	patterns_fini(&n.show);
	pattern_fini(&n.show_from);
	return rc;
}
