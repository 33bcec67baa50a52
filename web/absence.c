/* SPDX-License-Identifier: Apache-2.0 */
#include "web/absence.h"

#include "model/types.h"
#include "web/texts.h"

#define NAMED 12 /* types that a message lists */

/* The values of one label, looked through for one that a matcher takes. */
struct search {
	const struct matcher *matcher;
	bool any;   /* the label has a value */
	bool found; /* that the matcher takes */
	bool late;  /* nobody waits for the answer any more */
	const struct request *request;
	size_t count;
	struct texts types;
};

static void look_at(void *ctx, struct str value)
{
	struct search *s = ctx;

	s->any = true;
	if (s->count++ % 1024 == 0)
		s->late = s->late || check_deadline(s->request, NULL);
	/* Of what was not looked at it cannot be said that it does not match. */
	s->found = s->found || s->late || matcher_matches(s->matcher, value);
	if (str_is(s->matcher->name, LABEL_NAME) && s->types.count <= NAMED)
		texts_add(&s->types, value);
}

static void add_types(struct texts *t, struct buf *out)
{
	texts_sort(t);
	for (size_t i = 0; i < t->count && i < NAMED; i++)
		buf_printf(out, "%s%.*s", i ? ", " : "", STR_ARG(t->v[i]));
	if (t->count > NAMED)
		buf_str(out, ", …");
}

static const char *sign(enum matcher_op op)
{
	static const char *const signs[] = {
		[MATCH_EQ] = "=",
		[MATCH_NE] = "!=",
		[MATCH_RE] = "=~",
		[MATCH_NRE] = "!~",
	};

	return signs[op];
}

/* Whether no series fulfils a matcher, said to out. */
static bool is_unmatched(struct querier *q, const struct request *r,
			 const struct matcher *m, struct buf *out)
{
	struct search s = { .matcher = m, .request = r };

	if (matcher_matches(m, str_of("")))
		return false; /* series without the label fulfil it */
	querier_texts(q, m->name, INT64_MIN, INT64_MAX, look_at, &s);
	if (s.found) {
		texts_fini(&s.types);
		return false;
	}
	if (str_is(m->name, LABEL_NAME) && s.any) {
		buf_str(out, "the types of profiles stored are ");
		add_types(&s.types, out);
	} else if (str_is(m->name, LABEL_NAME)) {
		buf_str(out, "nothing is stored yet");
	} else if (s.any) {
		buf_printf(out, "no series has %.*s%s\"%.*s\"",
			   STR_ARG(m->name), sign(m->op), STR_ARG(m->value));
	} else {
		buf_printf(out, "no series has a label \"%.*s\"",
			   STR_ARG(m->name));
	}
	texts_fini(&s.types);
	return true;
}

int absence_set(struct querier *q, const struct request *r,
		const struct selector *s, const char *when, struct err *err)
{
	struct buf why = { 0 };
	bool known = false;
	int rc;

	for (size_t i = 0; i < s->count && !known; i++)
		known = is_unmatched(q, r, &s->matchers[i], &why);
	rc = err_set(err, ERR_NOTFOUND, "no profile of this selector %s%s%s",
		     when, known ? ": " : "", known ? buf_cstr(&why) : "");
	buf_fini(&why);
	return rc;
}
