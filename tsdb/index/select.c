/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/index/select.h"

#include "model/regex.h"

int value_trial_run(struct value_trial *t, struct str value, bool *fits,
		    struct err *err)
{
	*fits = matcher_matches(t->m, value) == t->wanted;
	return limits_meter(&t->limits, &t->meter, matcher_work(t->m), 0, err);
}

/*
 * Find the series that have the matcher's label with a value for which the
 * matcher's result is `wanted`. If the matcher itself lists these values (=, or
 * a regular expression such as a|b), they are looked up. Otherwise the matcher
 * is tried on every value of the label.
 */
static int with_value(const struct label_index *ix, const struct matcher *m,
		      bool wanted, struct postings *out, struct err *err)
{
	struct value_trial trial = { .m = m,
				     .wanted = wanted,
				     .limits = *ix->limits };
	bool equal = m->op == MATCH_EQ || m->op == MATCH_NE;
	bool positive = m->op == MATCH_EQ || m->op == MATCH_RE;
	struct str literal;
	int rc = limits_spend(ix->limits, 0, err);

	if (rc)
		return rc;
	if (equal && wanted == positive) {
		rc = ix->pair(ix->ctx, m->name, m->value, out, err);
	} else if (!equal && wanted == positive &&
		   regex_literal(m->regex, 0, &literal)) {
		for (size_t i = 0; !rc && regex_literal(m->regex, i, &literal);
		     i++) {
			rc = ix->pair(ix->ctx, m->name, literal, out, err);
			if (!rc)
				rc = limits_meter(&trial.limits, &trial.meter,
						  REGEX_WORK, 0, err);
		}
	} else {
		rc = ix->matching(ix->ctx, &trial, out, err);
		if (!rc)
			rc = regex_check_steps(m->regex, "selector", err);
	}
	postings_sort(out);
	return rc;
}

/* Exchange two lists without copying the numbers. */
static void select_swap(struct postings *a, struct postings *b)
{
	struct postings was = *a;

	*a = *b;
	*b = was;
}

/*
 * Apply one matcher to the candidates in `out`. If `absent_ok` is set, a series
 * that lacks the label counts as matching, so the matcher removes the series
 * with a value that does not match. Otherwise it keeps only the series with a
 * matching value; if *begun is false, there are no candidates yet, and these
 * series become the candidates.
 */
static int select_apply(const struct label_index *ix, const struct matcher *m,
			bool absent_ok, bool *begun, struct postings *out,
			struct err *err)
{
	struct postings p = { 0 };
	int rc = with_value(ix, m, !absent_ok, &p, err);

	if (absent_ok)
		postings_subtract(out, &p);
	else if (*begun)
		postings_intersect(out, &p);
	else
		select_swap(out, &p);
	*begun = true;
	postings_fini(&p);
	return rc;
}

/*
 * First, the matchers that do not match an empty value are applied: the series
 * that all of them match are the candidates. If there are no such matchers, all
 * series are candidates. Then the other matchers remove candidates.
 */
int select_series(const struct label_index *ix, const struct matcher *v,
		  size_t count, struct postings *out, struct err *err)
{
	static const struct str empty = { .ptr = "", .len = 0 };
	bool begun = false;
	int rc = 0;

	for (size_t i = 0; i < count && !rc; i++) {
		if (!matcher_matches(&v[i], empty))
			rc = select_apply(ix, &v[i], false, &begun, out, err);
	}
	if (!rc && !begun) {
		rc = ix->all(ix->ctx, out, err);
		postings_sort(out);
	}
	for (size_t i = 0; i < count && out->count && !rc; i++) {
		if (matcher_matches(&v[i], empty))
			rc = select_apply(ix, &v[i], true, &begun, out, err);
	}
	return rc;
}
