/* SPDX-License-Identifier: Apache-2.0 */
#include "pyroscope/answer/type_list.h"

#include "model/collected.h"
#include "query/select/string_set.h"

/*
 * The ids of a name are read from this many of its series in each part of the
 * database, and of each series only from the newest profile.
 */
#define SERIES_A_NAME 64

void type_list_init(struct type_list *l, struct pyroscope_call *call)
{
	*l = (struct type_list){ .call = call };
	l->types = mem_new(struct typeset);
}

void type_list_fini(struct type_list *l)
{
	vec_fini(&l->ids);
	arena_fini(&l->arena);
	mem_free(l->types);
}

void type_list_reset(struct type_list *l)
{
	l->ids.count = 0;
	arena_fini(&l->arena);
}

/* Whether a text can be a part of an id: a colon would make it ambiguous. */
static bool type_list_is_part(struct str text)
{
	return !text.len || !memchr(text.ptr, ':', text.len);
}

/* Add an id, unless the list has it. */
static void type_list_add_id(struct type_list *l, const struct profile_id *new)
{
	for (size_t i = 0; i < l->ids.count; i++) {
		const struct profile_id *id = &l->ids.v[i];

		if (str_eq(id->name, new->name) &&
		    str_eq(id->value.type, new->value.type) &&
		    str_eq(id->value.unit, new->value.unit) &&
		    str_eq(id->period.type, new->period.type) &&
		    str_eq(id->period.unit, new->period.unit))
			return;
	}
	*vec_add(&l->ids) = *new;
}

/* Add the ids of the decoded type set of profiles of a stored name. */
static void type_list_add_types(struct type_list *l, struct str stored)
{
	const struct typeset *t = l->types;
	struct str shown = arena_str(&l->arena, profile_id_shown(stored));

	if (!type_list_is_part(stored) || !type_list_is_part(t->period.type) ||
	    !type_list_is_part(t->period.unit))
		return;
	for (size_t i = 0; i < t->count; i++) {
		const struct profile_id id = { shown, t->types[i], t->period };

		if (id.value.type.len && type_list_is_part(id.value.type) &&
		    type_list_is_part(id.value.unit))
			type_list_add_id(l, &id);
	}
}

void type_list_add(struct type_list *l, struct querier *q, size_t i)
{
	struct buf encoded = { 0 };

	if (!querier_newest_types(q, i, &encoded, NULL) &&
	    !typeset_decode(arena_bytes(&l->arena, buf_bytes(&encoded)),
			    l->types, NULL))
		type_list_add_types(l, labels_get(querier_labels(q, i),
						  str_of(LABEL_NAME)));
	buf_fini(&encoded);
}

/* Add the ids of the profiles of a stored name in a range. */
static int type_list_add_name(struct type_list *l, struct querier *q,
			      struct str stored, int64_t from, int64_t to,
			      struct err *err)
{
	const struct matcher m = { .op = MATCH_EQ,
				   .name = str_of(LABEL_NAME),
				   .value = stored };
	const struct matcher_list named = { &m, 1 };
	int rc = querier_select_any(q, &named, 1, SERIES_A_NAME, from, to, err);

	for (size_t i = 0; i < querier_count(q) && !rc; i++) {
		type_list_add(l, q, i);
		rc = query_check_deadline(l->call->work, err);
	}
	return rc;
}

/* Callback for each name in the indexes. */
static void type_list_collect(void *ctx, struct str text)
{
	if (!str_is(text, COLLECTED_CPU_BEATS) &&
	    !str_is(text, COLLECTED_OFF_CPU_BEATS))
		string_set_add(ctx, text);
}

int type_list_add_all(struct type_list *l, int64_t from, int64_t to,
		      struct err *err)
{
	struct string_set names = { 0 };
	struct querier *q = NULL;
	int rc;

	query_open(l->call->work, l->call->db, &q);
	rc = querier_texts(q, str_of(LABEL_NAME), from, to, type_list_collect,
			   &names, err);
	for (size_t i = 0; i < names.count && !rc; i++)
		rc = type_list_add_name(l, q, names.v[i].text, from, to, err);
	call_note_lost(l->call, q);
	querier_close(q);
	string_set_fini(&names);
	return rc;
}
