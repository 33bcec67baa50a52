/* SPDX-License-Identifier: Apache-2.0 */
#include "model/matcher.h"

#include "base/limits.h"
#include "model/regex.h"

/*
 * A regex matches the whole value here, because selectors compile it with
 * regex_new().
 */
bool matcher_matches(const struct matcher *m, struct str value)
{
	if (m->or_absent && !value.len)
		return true;
	switch (m->op) {
	case MATCH_EQ:
		return str_eq(m->value, value);
	case MATCH_NE:
		return !str_eq(m->value, value);
	case MATCH_RE:
		return regex_matches(m->regex, value);
	case MATCH_NRE:
		return !regex_matches(m->regex, value);
	}
	return false;
}

size_t matcher_work(const struct matcher *m)
{
	return m->regex && regex_is_costly(m->regex) ? LIMITS_WORK : 1;
}

size_t matchers_lacking(const struct matcher *v, size_t count,
			const struct labels *ls, struct matcher *out)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		if (!labels_get(ls, v[i].name).len)
			out[n++] = v[i];
	}
	return n;
}

int matchers_check_steps(const struct matcher *v, size_t count, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < count && !rc; i++)
		rc = regex_check_steps(v[i].regex, "selector", err);
	return rc;
}

/*
 * labels_get() returns "" for a missing label, as the meaning of matchers in
 * PromQL requires: job="" also matches a series without the label job.
 */
bool matchers_match(const struct matcher *v, size_t count,
		    const struct labels *ls)
{
	for (size_t i = 0; i < count; i++) {
		if (!matcher_matches(&v[i], labels_get(ls, v[i].name)))
			return false;
	}
	return true;
}
