/* SPDX-License-Identifier: Apache-2.0 */
#include "pyroscope/answer/type_list.h"

#include "model/collected.h"
#include "query/select/string_set.h"

/*
 * The ids of a name are read from this many of its series in each part of the
 * database, and of each series only from the newest profile.
 */
#define SERIES_A_NAME 16

void type_list_init(struct type_list *l, struct pyroscope_call *call,
		    int64_t from, int64_t to)
{
	*l = (struct type_list){ .call = call, .from = from, .to = to };
	l->types = mem_new(struct typeset);
	query_open(call->work, call->db, &l->q);
}

void type_list_fini(struct type_list *l)
{
	for (size_t i = 0; i < l->names.count; i++)
		vec_fini(&l->names.v[i].ids);
	vec_fini(&l->names);
	querier_close(l->q);
	arena_fini(&l->arena);
	mem_free(l->types);
}

/* Add the ids of a decoded type set that the name does not have yet. */
static void type_list_add(struct type_list *l, struct named_types *n)
{
	struct str shown = profile_id_shown(n->stored);

	for (size_t i = 0; i < l->types->count; i++) {
		const struct value_type *v = &l->types->types[i];
		bool is_known = false;

		for (size_t k = 0; k < n->ids.count && !is_known; k++) {
			const struct profile_id *id = &n->ids.v[k];

			is_known =
				str_eq(id->value.type, v->type) &&
				str_eq(id->value.unit, v->unit) &&
				str_eq(id->period.type,
				       l->types->period.type) &&
				str_eq(id->period.unit, l->types->period.unit);
		}
		if (!is_known)
			*vec_add(&n->ids) =
				(struct profile_id){ shown, *v,
						     l->types->period };
	}
}

/* Read the ids of a name. */
static int type_list_read(struct type_list *l, struct named_types *n,
			  struct err *err)
{
	const struct matcher m = { .op = MATCH_EQ,
				   .name = str_of(LABEL_NAME),
				   .value = n->stored };
	const struct matcher_list named = { &m, 1 };
	int rc = querier_select_any(l->q, &named, 1, SERIES_A_NAME, l->from,
				    l->to, err);

	for (size_t i = 0; i < querier_count(l->q) && !rc; i++) {
		struct buf encoded = { 0 };

		/* If the newest profile is damaged, others tell. */
		if (!querier_newest_types(l->q, i, &encoded, NULL) &&
		    !typeset_decode(arena_bytes(&l->arena, buf_bytes(&encoded)),
				    l->types, NULL))
			type_list_add(l, n);
		buf_fini(&encoded);
		rc = query_check_deadline(l->call->work, err);
	}
	return rc;
}

int type_list_find(struct type_list *l, struct str stored,
		   const struct named_types **out, struct err *err)
{
	struct named_types *n;
	int rc;

	for (size_t i = 0; i < l->names.count; i++) {
		*out = &l->names.v[i];
		if (str_eq(l->names.v[i].stored, stored))
			return 0;
	}
	n = vec_add(&l->names);
	*n = (struct named_types){ .stored = arena_str(&l->arena, stored) };
	rc = type_list_read(l, n, err);
	*out = n;
	return rc;
}

/* Callback for each name in the indexes. */
static void type_list_collect(void *ctx, struct str text)
{
	if (!str_is(text, COLLECTED_CPU_BEATS) &&
	    !str_is(text, COLLECTED_OFF_CPU_BEATS))
		string_set_add(ctx, text);
}

int type_list_each_name(struct type_list *l,
			int (*fn)(void *ctx, struct str stored,
				  struct err *err),
			void *ctx, struct err *err)
{
	struct string_set names = { 0 };
	int rc = querier_texts(l->q, str_of(LABEL_NAME), l->from, l->to,
			       type_list_collect, &names, err);

	for (size_t i = 0; i < names.count && !rc; i++)
		rc = fn(ctx, names.v[i].text, err);
	string_set_fini(&names);
	return rc;
}
