/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/filter/tagfilter.h"

#include <ctype.h>
#include <stdlib.h>

#include "pprof/filter/search_work.h"
#include "pprof/profile/measure.h"

#define PATTERNS_MAX 32 /* largest number of expressions in one filter */

/* Units of numeric labels. */

/* Record the units of the numeric labels of a label set. */
static void note_units(struct pprof *p, struct pprof_run set,
		       struct tag_units *out)
{
	for (uint32_t i = 0; i < set.count; i++) {
		const struct pprof_label *l = &p->labels.v[set.first + i];

		if (!l->is_number)
			continue;
		/*
		 * Unit 0, the empty string: the key has occurred, but without a
		 * unit so far.
		 */
		if (out->unit[l->key] == PPROF_NONE || !out->unit[l->key])
			out->unit[l->key] = l->unit;
	}
}

void tag_units_find(struct pprof *p, struct tag_units *out)
{
	uint32_t bytes = strtab_intern(&p->strings, str_of("bytes"));
	bool *seen = mem_zalloc(p->label_sets.count, sizeof(bool));

	out->count = p->strings.strings.count;
	out->unit = mem_alloc(out->count * sizeof(*out->unit));
	memset(out->unit, 0xff, out->count * sizeof(*out->unit));
	for (size_t i = 0; i < p->samples.count; i++) {
		uint32_t set = p->samples.v[i].labels;

		if (!seen[set])
			note_units(p, p->label_sets.v[set], out);
		seen[set] = true;
	}
	for (uint32_t key = 0; key < out->count; key++) {
		struct str name = pprof_str(p, key);

		/*
		 * pprof's rule for keys without a unit: the unit is "bytes" for
		 * the keys "alignment" and "request", and equal to the key for
		 * all other keys.
		 */
		if (out->unit[key])
			continue;
		out->unit[key] = str_is(name, "alignment") ||
						 str_is(name, "request") ?
					 bytes :
					 key;
	}
	mem_free(seen);
}

void tag_units_fini(struct tag_units *u)
{
	mem_free(u->unit);
	*u = (struct tag_units){ 0 };
}

/* Ranges of numbers. */

/* One end of a range, as written in the filter. */
struct bound {
	int64_t number;
	struct str unit;
};

/* A range of numbers, both ends included. */
struct range {
	bool has_low;
	bool has_high;
	double low;
	double high;
	struct str unit; /* unit of low and high */
};

/*
 * Parse [+-]digits[letters] at the start of *s and remove it from *s. Returns
 * false if there is no number.
 */
static bool parse_bound(struct str *s, struct bound *out)
{
	size_t i = 0;
	struct str digits;

	if (i < s->len && (s->ptr[i] == '+' || s->ptr[i] == '-'))
		i++;
	while (i < s->len && isdigit((unsigned char)s->ptr[i]))
		i++;
	digits = (struct str){ s->ptr, i };
	if (digits.len && *digits.ptr == '+') {
		digits.ptr++;
		digits.len--;
	}
	if (!str_to_i64(digits, &out->number))
		return false;
	out->unit = (struct str){ s->ptr + i, 0 };
	while (i < s->len && isalpha((unsigned char)s->ptr[i])) {
		out->unit.len++;
		i++;
	}
	s->ptr += i;
	s->len -= i;
	return true;
}

/* Remove a colon from the start of *s; return false if there is none. */
static bool skip_colon(struct str *s)
{
	if (!s->len || *s->ptr != ':')
		return false;
	s->ptr++;
	s->len--;
	return true;
}

/*
 * Parse "a", "a:", ":b" or "a:b". Returns false if s is not a range, or if the
 * units of a and b do not convert into each other: the caller then treats s as
 * a regular expression.
 */
static bool tagfilter_parse_range(struct str s, struct range *r)
{
	struct bound low = { 0 };
	struct bound high = { 0 };
	struct str unit;
	bool colon;

	*r = (struct range){ 0 };
	r->has_low = parse_bound(&s, &low);
	colon = skip_colon(&s);
	r->has_high = colon && parse_bound(&s, &high);
	if (s.len || (!r->has_low && !r->has_high))
		return false;
	if (r->has_low)
		r->low =
			measure_scale(low.number, low.unit, low.unit, &r->unit);
	if (!r->has_high) {
		r->has_high = !colon; /* "a" matches only the number a */
		r->high = r->low;
		return true;
	}
	if (!r->has_low) {
		r->high = measure_scale(high.number, high.unit, high.unit,
					&r->unit);
		return true;
	}
	r->high = measure_scale(high.number, high.unit, r->unit, &unit);
	return str_eq(unit, r->unit);
}

/*
 * Return whether a label's value is in the range, after conversion to the
 * range's unit.
 */
static bool in_range(const struct range *r, int64_t v, struct str unit)
{
	struct str name;
	double scaled = measure_scale(v, unit, r->unit, &name);

	return str_eq(name, r->unit) && (!r->has_low || scaled >= r->low) &&
	       (!r->has_high || scaled <= r->high);
}

/* Matching of label sets. */

/*
 * A parsed filter: an optional key, and either a range or regular expressions.
 */
struct matcher_of_tags {
	const char *name; /* name of the filter, for messages */
	bool has_key;
	struct str key;
	bool is_range;
	struct range range;
	VEC(struct regex *) patterns;
};

/* Free the expressions of a matcher. */
static void matcher_fini(struct matcher_of_tags *m)
{
	for (size_t i = 0; i < m->patterns.count; i++)
		regex_free(m->patterns.v[i]);
	vec_fini(&m->patterns);
}

/*
 * Compile expressions separated by commas. ERR_INVALID: an expression is
 * malformed, or there are more than PATTERNS_MAX.
 */
static int add_patterns(struct matcher_of_tags *m, struct str value,
			struct err *err)
{
	struct str rest = value;
	bool more = true;

	while (more) {
		struct regex *x;
		struct str one;
		int rc;

		if (m->patterns.count == PATTERNS_MAX)
			return err_set(err, ERR_INVALID,
				       "more than %d expressions",
				       PATTERNS_MAX);
		more = rest.len && memchr(rest.ptr, ',', rest.len);
		one = str_cut(rest, ',', &rest);
		rc = regex_new_search(one, &x, err);
		if (rc)
			return rc;
		/* NOLINTNEXTLINE(bugprone-sizeof-expression): of pointers */
		*vec_add(&m->patterns) = x;
	}
	return 0;
}

/*
 * Parse `text`, the filter of the option called `name`. The caller must call
 * matcher_fini() even after an error.
 */
static int matcher_init(struct matcher_of_tags *m, const char *name,
			struct str text, struct err *err)
{
	struct str value = text;
	int rc;

	*m = (struct matcher_of_tags){ .name = name };
	/* As in pprof, "=regexp" (an empty key) is a filter without a key. */
	if (text.len && memchr(text.ptr, '=', text.len)) {
		m->key = str_cut(text, '=', &value);
		m->has_key = m->key.len > 0;
	}
	m->is_range = tagfilter_parse_range(value, &m->range);
	if (m->is_range)
		return 0;
	rc = add_patterns(m, value, err);
	return rc ? err_wrap(err, rc, "%s", name) : 0;
}

/*
 * The data that the filters of one call share: the profile, the units of its
 * labels, the list of filters that matched nothing, and the work of the
 * searches.
 */
struct work {
	struct pprof *p;
	const struct tag_units *units;
	struct no_match *none;
	struct search_work search;
};

/* Return whether a numeric label of the set is in the range. */
static bool range_matches(const struct matcher_of_tags *m, struct work *w,
			  struct pprof_run set)
{
	const struct pprof *p = w->p;

	for (uint32_t i = 0; i < set.count && search_work_charge(&w->search, 1);
	     i++) {
		const struct pprof_label *l = &p->labels.v[set.first + i];
		uint32_t unit = tag_unit(w->units, l->key);

		if (l->is_number &&
		    (!m->has_key || str_eq(pprof_str(p, l->key), m->key)) &&
		    in_range(&m->range, l->num,
			     unit == PPROF_NONE ? str_of("") :
						  pprof_str(p, unit)))
			return true;
	}
	return false;
}

/*
 * Return whether x matches a value of the matcher's key, or, without a key,
 * the text "key:value" of any label.
 */
static bool pattern_matches(const struct matcher_of_tags *m,
			    const struct regex *x, struct work *w,
			    struct pprof_run set)
{
	const struct pprof *p = w->p;
	struct buf text = { 0 };
	bool found = false;

	for (uint32_t i = 0;
	     i < set.count && !found && search_work_charge(&w->search, 1);
	     i++) {
		const struct pprof_label *l = &p->labels.v[set.first + i];
		struct str key = pprof_str(p, l->key);
		struct str value = pprof_str(p, l->str);

		if (l->is_number || (m->has_key && !str_eq(key, m->key)))
			continue;
		if (!m->has_key) {
			buf_reset(&text);
			buf_printf(&text, "%.*s:", STR_ARG(key));
			buf_add(&text, value.ptr, value.len);
			value = str_from(buf_bytes(&text));
		}
		found = search_work_matches(&w->search, x, m->name, value);
	}
	buf_fini(&text);
	return found;
}

/* Return whether a label set matches the filter. */
static bool set_matches(const struct matcher_of_tags *m, struct work *w,
			struct pprof_run set)
{
	if (m->is_range)
		return range_matches(m, w, set);
	for (size_t i = 0; i < m->patterns.count; i++) {
		/*
		 * As in pprof, one matching expression suffices if the filter
		 * has a key; without a key, all expressions must match.
		 */
		if (pattern_matches(m, m->patterns.v[i], w, set) == m->has_key)
			return m->has_key;
	}
	return !m->has_key;
}

/*
 * Keep the samples that match if `wanted` is true, and the samples that do not
 * match if `wanted` is false. Each label set is matched only once. Sets *any if
 * any label set matches.
 */
static int tagfilter_apply(const struct matcher_of_tags *m, struct work *w,
			   bool wanted, bool *any)
{
	struct pprof *p = w->p;
	bool *keep = mem_zalloc(p->label_sets.count, sizeof(bool));

	for (size_t i = 0; i < p->label_sets.count && !w->search.rc; i++) {
		bool match = set_matches(m, w, p->label_sets.v[i]);

		*any = *any || match;
		keep[i] = match == wanted;
	}
	pprof_keep(p, NULL, keep);
	mem_free(keep);
	return w->search.rc;
}

/*
 * Parse and apply one filter, and add it to w->none if it matched nothing.
 */
static int filter_one(struct work *w, const char *name, struct str text,
		      bool wanted, struct err *err)
{
	struct matcher_of_tags m = { 0 };
	bool any = false;
	int rc;

	if (!text.len)
		return 0;
	rc = matcher_init(&m, name, text, err);
	if (!rc)
		rc = tagfilter_apply(&m, w, wanted, &any);
	if (!rc && !any && w->none->count < ARRAY_SIZE(w->none->names))
		w->none->names[w->none->count++] = name;
	matcher_fini(&m);
	return rc;
}

int filter_tags(struct pprof *p, const struct tag_filter *f,
		const struct tag_units *units, struct no_match *none,
		const struct limits *limits, struct err *err)
{
	struct work w = { .p = p,
			  .units = units,
			  .none = none,
			  .search = { .limits = limits, .err = err } };
	int rc = filter_one(&w, "tagfocus", f->focus, true, err);

	return rc ? rc : filter_one(&w, "tagignore", f->ignore, false, err);
}

/*
 * Remove labels from a set, in place: labels whose key does not match `show`,
 * and labels whose key matches `hide`. NULL: the filter is not set. The label
 * that marks the base of a diff stays, because everprof added it.
 */
static void drop_labels(struct pprof *p, struct pprof_run *set,
			const struct regex *show, const struct regex *hide,
			struct search_work *w)
{
	struct pprof_label *v = p->labels.v + set->first;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < set->count; i++) {
		struct str key = pprof_str(p, v[i].key);

		if (pprof_label_is_base(p, &v[i]) ||
		    ((!show || search_work_matches(w, show, "tagshow", key)) &&
		     !(hide && search_work_matches(w, hide, "taghide", key))))
			v[kept++] = v[i];
	}
	set->count = kept;
}

int filter_tag_names(struct pprof *p, const struct tag_filter *f,
		     const struct limits *limits, struct err *err)
{
	struct search_work w = { .limits = limits, .err = err };
	struct regex *show = NULL;
	struct regex *hide = NULL;
	int rc = 0;

	if (f->show.len && (rc = regex_new_search(f->show, &show, err)))
		return err_wrap(err, rc, "tagshow");
	if (f->hide.len && (rc = regex_new_search(f->hide, &hide, err)))
		rc = err_wrap(err, rc, "taghide");
	for (size_t i = 0; !rc && (show || hide) && i < p->label_sets.count;
	     i++) {
		drop_labels(p, &p->label_sets.v[i], show, hide, &w);
		rc = w.rc;
	}
	regex_free(show);
	regex_free(hide);
	return rc;
}
