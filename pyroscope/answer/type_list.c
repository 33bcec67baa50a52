/* SPDX-License-Identifier: Apache-2.0 */
#include "pyroscope/answer/type_list.h"

#include "base/hash.h"
#include "model/collected.h"

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
	type_list_reset(l);
	vec_fini(&l->ids);
	mem_free(l->types);
}

void type_list_reset(struct type_list *l)
{
	l->ids.count = 0;
	table_fini(&l->by_id);
	string_set_fini(&l->seen);
	arena_fini(&l->arena);
}

/* Whether a text can be a part of an id: a colon would make it ambiguous. */
static bool type_list_is_part(struct str text)
{
	return !text.len || !memchr(text.ptr, ':', text.len);
}

static bool type_list_same(const void *ctx, uint32_t number, const void *key)
{
	const struct type_list *l = ctx;
	const struct profile_id *id = &l->ids.v[number];
	const struct profile_id *other = key;

	return profile_id_agree(id, other) &&
	       str_eq(id->period.type, other->period.type) &&
	       str_eq(id->period.unit, other->period.unit);
}

/* Add an id, unless the list has it. */
static void type_list_add_id(struct type_list *l, const struct profile_id *new)
{
	struct buf text = { 0 };
	uint64_t hash;

	profile_id_print(new, &text);
	hash = hash_key(buf_bytes(&text));
	buf_fini(&text);
	if (table_find(&l->by_id, hash, type_list_same, l, new) != TABLE_NONE)
		return;
	table_add(&l->by_id, hash, (uint32_t)l->ids.count);
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

/* Whether a type set of a stored name is new. */
static bool type_list_is_new(struct type_list *l, struct str stored,
			     const struct buf *encoded)
{
	struct buf key = { 0 };
	bool is_new;

	buf_add(&key, stored.ptr, stored.len);
	buf_byte(&key, 0);
	buf_add(&key, encoded->ptr, encoded->len);
	is_new = string_set_add(&l->seen, str_from(buf_bytes(&key)));
	buf_fini(&key);
	return is_new;
}

int type_list_add(struct type_list *l, struct querier *q, size_t i,
		  struct err *err)
{
	struct limits limits = query_limits(l->call->work);
	struct str stored =
		labels_get(querier_labels(q, i), str_of(LABEL_NAME));
	struct buf encoded = { 0 };

	if (!querier_newest_types(q, i, &encoded, NULL) &&
	    type_list_is_new(l, stored, &encoded) &&
	    !typeset_decode(arena_bytes(&l->arena, buf_bytes(&encoded)),
			    l->types, NULL))
		type_list_add_types(l, stored);
	buf_fini(&encoded);
	return limits_meter(&limits, &l->meter, LIMITS_WORK / 64,
			    l->arena.used + string_set_memory(&l->seen) +
				    vec_memory(&l->ids),
			    err);
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

	for (size_t i = 0; i < querier_count(q) && !rc; i++)
		rc = type_list_add(l, q, i, err);
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
