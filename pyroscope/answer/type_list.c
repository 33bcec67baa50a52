/* SPDX-License-Identifier: Apache-2.0 */
#include "pyroscope/answer/type_list.h"

#include "base/hash.h"
#include "model/collected.h"
#include "pyroscope/names/service.h"
#include "query/select/string_set.h"

/*
 * The ids of a name are read from this many of its series in each part of the
 * database, and of each series only from the newest profile.
 */
#define SERIES_A_NAME 64

/* The same of one service, whose programs are mostly alike. */
#define SERIES_A_SERVICE 4

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
	table_fini(&l->by_name);
	call_note_lost(l->call, l->q);
	querier_close(l->q);
	arena_fini(&l->arena);
	mem_free(l->types);
}

/* Whether a text can be a part of an id. */
static bool type_list_is_part(struct str text)
{
	return !text.len || !memchr(text.ptr, ':', text.len);
}

/* Add an id that the name does not have yet. */
static void type_list_add_id(struct named_types *n,
			     const struct profile_id *new)
{
	for (size_t i = 0; i < n->ids.count; i++) {
		const struct profile_id *id = &n->ids.v[i];

		if (str_eq(id->value.type, new->value.type) &&
		    str_eq(id->value.unit, new->value.unit) &&
		    str_eq(id->period.type, new->period.type) &&
		    str_eq(id->period.unit, new->period.unit))
			return;
	}
	*vec_add(&n->ids) = *new;
}

/* Add the ids of a decoded type set; a colon would make them ambiguous. */
static void type_list_add(struct type_list *l, struct named_types *n)
{
	const struct typeset *t = l->types;

	if (!type_list_is_part(n->stored) ||
	    !type_list_is_part(t->period.type) ||
	    !type_list_is_part(t->period.unit))
		return;
	for (size_t i = 0; i < t->count; i++) {
		const struct profile_id id = { profile_id_shown(n->stored),
					       t->types[i], t->period };

		if (id.value.type.len && type_list_is_part(id.value.type) &&
		    type_list_is_part(id.value.unit))
			type_list_add_id(n, &id);
	}
}

/* Whether a series is of a service; for querier_keep(). */
static bool type_list_serves(void *service, const struct labels *ls)
{
	return str_eq(service_of(ls), *(struct str *)service);
}

/* Select some series of a name, and of a service unless it is empty. */
static int type_list_select(struct type_list *l, const struct named_types *n,
			    struct err *err)
{
	struct matcher services[SERVICE_MATCHERS_MAX];
	struct matcher v[SERVICE_MATCHERS_MAX][2];
	struct matcher_list any[SERVICE_MATCHERS_MAX];
	struct str service = n->service;
	size_t lists = service.len ?
			       service_matchers(service, &l->arena, services) :
			       1;
	int rc;

	for (size_t i = 0; i < lists; i++) {
		v[i][0] = (struct matcher){ .op = MATCH_EQ,
					    .name = str_of(LABEL_NAME),
					    .value = n->stored };
		if (service.len)
			v[i][1] = services[i];
		any[i] = (struct matcher_list){ v[i], service.len ? 2 : 1 };
	}
	rc = querier_select_any(l->q, any, lists,
				service.len ? SERIES_A_SERVICE : SERIES_A_NAME,
				l->from, l->to, err);
	if (!rc && service.len)
		querier_keep(l->q, type_list_serves, &service);
	return rc;
}

/* Read the ids of a name. */
static int type_list_read(struct type_list *l, struct named_types *n,
			  struct err *err)
{
	struct buf encoded = { 0 };
	int rc = type_list_select(l, n, err);

	for (size_t i = 0; i < querier_count(l->q) && !rc; i++) {
		buf_reset(&encoded);
		/* If the newest profile is damaged, others tell. */
		if (!querier_newest_types(l->q, i, &encoded, NULL) &&
		    !typeset_decode(arena_bytes(&l->arena, buf_bytes(&encoded)),
				    l->types, NULL))
			type_list_add(l, n);
		rc = query_check_deadline(l->call->work, err);
	}
	buf_fini(&encoded);
	return rc;
}

/* A name and a service, as the key of the table. */
struct type_list_key {
	struct str stored;
	struct str service;
};

static bool type_list_same(const void *ctx, uint32_t number, const void *key)
{
	const struct type_list *l = ctx;
	const struct type_list_key *k = key;

	return str_eq(l->names.v[number].stored, k->stored) &&
	       str_eq(l->names.v[number].service, k->service);
}

int type_list_find(struct type_list *l, struct str stored, struct str service,
		   const struct named_types **out, struct err *err)
{
	const struct type_list_key key = { stored, service };
	uint64_t hash = hash_key(bytes_of(stored)) ^
			hash_key(bytes_of(service)) * 3;
	uint32_t at = table_find(&l->by_name, hash, type_list_same, l, &key);
	int rc = 0;

	if (at == TABLE_NONE) {
		at = (uint32_t)l->names.count;
		table_add(&l->by_name, hash, at);
		*vec_add(&l->names) = (struct named_types){
			.stored = arena_str(&l->arena, stored),
			.service = arena_str(&l->arena, service)
		};
		rc = type_list_read(l, &l->names.v[at], err);
	}
	*out = &l->names.v[at];
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
