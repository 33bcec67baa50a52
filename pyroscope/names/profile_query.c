/* SPDX-License-Identifier: Apache-2.0 */
#include "pyroscope/names/profile_query.h"

#include "pyroscope/names/service.h"

/* Use an id; a second one that differs selects nothing. */
static int profile_query_set_id(struct profile_query *q, struct str text,
				struct err *err)
{
	struct profile_id id;
	int rc = profile_id_parse(text, &id, err);

	if (rc)
		return rc;
	if (q->has_id && !profile_id_agree(&id, &q->id))
		q->is_empty = true;
	q->id = id;
	q->has_id = true;
	return 0;
}

/*
 * Look at a matcher of the profile type or of a name. *is_done: nothing is left
 * of it for the database or the predicate.
 */
static int profile_query_read_type(struct profile_query *q,
				   const struct matcher *m, bool *is_done,
				   struct err *err)
{
	struct str rest;

	*is_done = true;
	if (str_is(m->name, PROFILE_TYPE_LABEL) && m->op == MATCH_EQ)
		return m->value.len ? profile_query_set_id(q, m->value, err) :
				      0;
	if (str_is(m->name, PROFILE_TYPE_LABEL))
		return err_set(
			err, ERR_UNSUPPORTED,
			"the label __profile_type__ is compared by \"=\" only");
	/* An id may stand before the braces, where a name usually does. */
	if (str_is(m->name, LABEL_NAME) && m->op == MATCH_EQ &&
	    str_cut(m->value, ':', &rest).len && rest.len)
		return profile_query_set_id(q, m->value, err);
	*is_done = profile_id_is_label(m->name);
	if (*is_done)
		q->type_ones[q->type_count++] = *m;
	return 0;
}

/*
 * Add a matcher of a label that the database knows to `real`. If samples may have the
 * label, too, those of series without it are decided later.
 */
static void profile_query_add_real(struct profile_query *q,
				   const struct sample_label_test *samples,
				   const struct matcher *m,
				   struct matcher *real)
{
	*real = *m;
	if (!sample_label_is_possible(samples, m->name))
		return;
	real->or_absent = true;
	q->sample_matchers[q->sample_count++] = *m;
}

/* Split the matchers: those that the database knows go to `real`. */
static int profile_query_split(struct profile_query *q,
			       const struct sample_label_test *samples,
			       struct matcher *real, size_t *real_count,
			       struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < q->own.count && !rc; i++) {
		const struct matcher *m = &q->own.matchers[i];
		bool is_done;

		rc = profile_query_read_type(q, m, &is_done, err);
		if (rc || is_done)
			continue;
		if (service_is_label(m->name) || str_is(m->name, LABEL_NAME))
			q->virtual_ones[q->virtual_count++] = *m;
		else
			profile_query_add_real(q, samples, m,
					       &real[(*real_count)++]);
	}
	return rc;
}

/* Find the names, and whether they contradict each other. */
static void profile_query_find_names(struct profile_query *q)
{
	struct str name = q->has_id ? q->id.name : str_of("");

	for (size_t i = 0; i < q->virtual_count && !name.len; i++) {
		const struct matcher *m = &q->virtual_ones[i];

		if (str_is(m->name, LABEL_NAME) && m->op == MATCH_EQ)
			name = m->value;
	}
	if (name.len)
		q->name_count = profile_id_stored(name, q->names);
}

/* Return the service that a matcher asks for; empty: none, or no single one. */
static struct str profile_query_service(const struct profile_query *q)
{
	for (size_t i = 0; i < q->virtual_count; i++) {
		const struct matcher *m = &q->virtual_ones[i];

		if (service_is_label(m->name) && m->op == MATCH_EQ)
			return m->value;
	}
	return str_of("");
}

/*
 * Make a list for each stored name and each label that may have the service, of
 * the matchers that all have in common and these two.
 */
static void profile_query_list(struct profile_query *q,
			       const struct matcher *real, size_t real_count)
{
	struct matcher services[SERVICE_MATCHERS_MAX];
	struct str service = profile_query_service(q);
	size_t service_count =
		service.len ? service_matchers(service, &q->arena, services) :
			      0;
	size_t names = q->name_count ? q->name_count : 1;
	size_t lists = names * (service_count ? service_count : 1);

	q->any = arena_array(&q->arena, struct matcher_list, lists);
	for (size_t i = 0; i < lists; i++) {
		struct matcher *v =
			arena_array(&q->arena, struct matcher, real_count + 2);
		size_t n = 0;

		if (q->name_count)
			v[n++] =
				(struct matcher){ .op = MATCH_EQ,
						  .name = str_of(LABEL_NAME),
						  .value =
							  q->names[i % names] };
		if (service_count)
			v[n++] = services[i / names];
		for (size_t k = 0; k < real_count; k++)
			v[n++] = real[k];
		q->any[i] = (struct matcher_list){ v, n };
	}
	q->any_count = lists;
}

/*
 * Decide the matchers of parts of the profile type: they select sample types, and
 * no series, so they say something beside a profile type only.
 */
static int profile_query_check_parts(struct profile_query *q, struct err *err)
{
	struct buf value = { 0 };

	if (q->type_count && !q->has_id)
		return err_set(
			err, ERR_UNSUPPORTED,
			"the label %.*s selects nothing without a profile type",
			STR_ARG(q->type_ones[0].name));
	for (size_t i = 0; i < q->type_count; i++) {
		buf_reset(&value);
		profile_id_part(&q->id, q->type_ones[i].name, &value);
		q->is_empty |= !matcher_matches(&q->type_ones[i],
						str_from(buf_bytes(&value)));
	}
	buf_fini(&value);
	return 0;
}

int profile_query_parse(struct profile_query *q,
			const struct sample_label_test *samples, struct str id,
			struct str selector, struct err *err)
{
	struct matcher *real;
	size_t real_count = 0;
	int rc;

	*q = (struct profile_query){ .has_id = false };
	rc = selector_parse_any(selector, &q->own, err);
	if (rc)
		return err_wrap(err, rc, "label selector");
	if (id.len)
		rc = profile_query_set_id(q, id, err);
	real = arena_array(&q->arena, struct matcher, q->own.count + 1);
	q->virtual_ones =
		arena_array(&q->arena, struct matcher, q->own.count + 1);
	q->sample_matchers =
		arena_array(&q->arena, struct matcher, q->own.count + 1);
	q->type_ones = arena_array(&q->arena, struct matcher, q->own.count + 1);
	if (!rc)
		rc = profile_query_split(q, samples, real, &real_count, err);
	if (!rc)
		rc = profile_query_check_parts(q, err);
	if (rc)
		return rc;
	profile_query_find_names(q);
	profile_query_list(q, real, real_count);
	return 0;
}

/*
 * Whether the name of a series fulfils a matcher: it has two, the shown one and
 * the stored one, and is what either is, and not what either is not.
 */
static bool profile_query_is_named(const struct matcher *m,
				   const struct labels *ls)
{
	struct str stored = labels_get(ls, str_of(LABEL_NAME));
	bool is = matcher_matches(m, stored);
	bool is_shown = matcher_matches(m, profile_id_shown(stored));

	return m->op == MATCH_EQ || m->op == MATCH_RE ? is || is_shown :
							is && is_shown;
}

bool profile_query_keep(void *ctx, const struct labels *ls)
{
	const struct profile_query *q = ctx;

	for (size_t i = 0; i < q->virtual_count; i++) {
		const struct matcher *m = &q->virtual_ones[i];

		if (service_is_label(m->name) ?
			    !matcher_matches(m, service_of(ls)) :
			    !profile_query_is_named(m, ls))
			return false;
	}
	return true;
}

void profile_query_fini(struct profile_query *q)
{
	selector_fini(&q->own);
	arena_fini(&q->arena);
}
