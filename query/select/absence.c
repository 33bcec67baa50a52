/* SPDX-License-Identifier: Apache-2.0 */
#include "query/select/absence.h"

#include "model/regex.h"
#include "model/types.h"
#include "query/select/string_set.h"

#define NAMED 12 /* largest number of profile types that a message lists */

/*
 * A search through all values of one label for a value that `matcher` accepts.
 */
struct search {
	const struct matcher *matcher;
	bool any;   /* whether any series has the label */
	bool found; /* whether the matcher accepts any of the values */
	/*
	 * Whether the search ended early, because the deadline has passed or
	 * the regular expression takes too many steps. The message then does
	 * not name this matcher as the reason.
	 */
	bool late;
	struct limits limits;
	struct growth_meter meter;
	/* Profile types seen so far, for the message. */
	struct string_set types;
};

/*
 * Callback for each value of the label: check it against the matcher, until one
 * is found.
 */
static void absence_look_at(void *ctx, struct str value)
{
	struct search *s = ctx;

	s->any = true;
	if (!s->found && !s->late) {
		s->found = matcher_matches(s->matcher, value);
		s->late =
			limits_meter(&s->limits, &s->meter,
				     matcher_work(s->matcher), 0, NULL) ||
			regex_check_steps(s->matcher->regex, "selector", NULL);
	}
	if (str_is(s->matcher->name, LABEL_NAME) && s->types.count <= NAMED)
		string_set_add(&s->types, value);
}

/*
 * Append the profile types to the message in byte order, at most NAMED of them.
 */
static void add_types(struct string_set *t, struct buf *out)
{
	string_set_sort(t);
	for (size_t i = 0; i < t->count && i < NAMED; i++)
		buf_printf(out, "%s%.*s", i ? ", " : "", STR_ARG(t->v[i].text));
	if (t->count > NAMED)
		buf_str(out, ", …");
}

/* Append the stored profile type that a matcher probably means. */
static void add_meant(const struct string_set *t, const struct matcher *m,
		      struct buf *out)
{
	for (size_t i = 0; i < t->count && m->op == MATCH_EQ; i++) {
		if (!types_is_meant(m->value, t->v[i].text))
			continue;
		buf_printf(out, "; did you mean %.*s?", STR_ARG(t->v[i].text));
		return;
	}
}

static const char *absence_sign_of(enum matcher_op op)
{
	static const char *const signs[] = {
		[MATCH_EQ] = "=",
		[MATCH_NE] = "!=",
		[MATCH_RE] = "=~",
		[MATCH_NRE] = "!~",
	};

	return signs[op];
}

/*
 * Whether no stored series satisfies the matcher at any time. If so, the reason
 * is appended to `out`.
 */
static bool is_unmatched(struct querier *q, struct query_work *w,
			 const struct matcher *m, struct buf *out)
{
	struct search s = { .matcher = m, .limits = query_limits(w) };
	int rc;

	/*
	 * A series that lacks the label satisfies the matcher, so this matcher
	 * is not the reason. After the deadline, the reason is not looked for.
	 */
	if (matcher_matches(m, str_of("")) || query_check_deadline(w, NULL))
		return false;
	rc = querier_texts(q, m->name, INT64_MIN, INT64_MAX, absence_look_at,
			   &s, NULL);
	if (rc || s.found || s.late) {
		string_set_fini(&s.types);
		return false;
	}
	if (str_is(m->name, LABEL_NAME) && s.any) {
		buf_str(out, "the stored profile types are ");
		add_types(&s.types, out);
		add_meant(&s.types, m, out);
	} else if (str_is(m->name, LABEL_NAME)) {
		buf_str(out, "no profile is stored yet");
	} else if (s.any) {
		buf_printf(out, "no series has %.*s%s\"%.*s\"",
			   STR_ARG(m->name), absence_sign_of(m->op),
			   STR_ARG(m->value));
	} else {
		buf_printf(out, "no series has a label \"%.*s\"",
			   STR_ARG(m->name));
	}
	string_set_fini(&s.types);
	return true;
}

int query_explain_absence(struct querier *q, struct query_work *w,
			  const struct query_spec *spec, const char *when,
			  struct err *err)
{
	const struct selector *s = &spec->selector;
	struct buf why = { 0 };
	bool known = false;
	int rc;

	for (size_t i = 0; i < s->count && !known; i++)
		known = is_unmatched(q, w, &s->matchers[i], &why);
	rc = err_set(err, ERR_NOTFOUND,
		     "no profile matches this selector%s %s%s%s",
		     spec->totals.set ? " (with total_min or total_max)" : "",
		     when, known ? ": " : "", known ? buf_cstr(&why) : "");
	buf_fini(&why);
	return rc;
}
