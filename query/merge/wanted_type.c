/* SPDX-License-Identifier: Apache-2.0 */
#include "query/merge/wanted_type.h"

#include "base/mem.h"

void wanted_type_init(struct wanted_type *w, struct str name)
{
	int64_t number;

	*w = (struct wanted_type){ .types = mem_new(struct typeset) };
	if (!str_to_i64(name, &number))
		w->name = name;
}

void wanted_type_fini(struct wanted_type *w)
{
	arena_fini(&w->text);
	mem_free(w->types);
}

void wanted_type_set(struct wanted_type *w, struct str type)
{
	w->is_known = true;
	w->type = arena_str(&w->text, type);
}

void wanted_type_find(struct wanted_type *w, const struct typeset *types,
		      size_t *at)
{
	*at = SIZE_MAX;
	if (!w->is_known) {
		if (typeset_index(types, w->name, at,
				  w->lacking.code ? NULL : &w->lacking))
			return;
		wanted_type_set(w, types->types[*at].type);
		return;
	}
	for (size_t i = 0; i < types->count && *at == SIZE_MAX; i++) {
		if (str_eq(types->types[i].type, w->type))
			*at = i;
	}
}

/* Whether the rows of a type set have the wanted type; such rows mostly stand together. */
struct wanted_cursor {
	uint32_t typeset;
	bool has_it;
};

/* Set c->has_it to whether a row has the wanted type. */
static int wanted_type_look(struct wanted_type *w, const struct totals_view *v,
			    size_t row, struct wanted_cursor *c,
			    struct err *err)
{
	uint32_t typeset = v->rows[row].typeset;
	size_t at;
	int rc;

	if (c->typeset == typeset)
		return 0;
	rc = typeset_decode(v->typesets[typeset], w->types, err);
	if (rc)
		return rc;
	wanted_type_find(w, w->types, &at);
	*c = (struct wanted_cursor){ typeset, at != SIZE_MAX };
	return 0;
}

/* Copy the rows from `first` on that have the wanted type, after those before it. */
static int wanted_type_copy(struct wanted_type *w, struct query_work *work,
			    struct totals_view *v, size_t first,
			    struct total_rows *rows, struct err *err)
{
	struct wanted_cursor c = { .typeset = UINT32_MAX };
	size_t count = first;
	int rc = total_rows_make(rows, work, v->count, err);

	if (rc)
		return rc;
	memcpy(rows->v, v->rows, first * sizeof(*rows->v));
	for (size_t i = first; i < v->count && !rc; i++) {
		rc = wanted_type_look(w, v, i, &c, err);
		rows->v[count] = v->rows[i];
		count += c.has_it;
	}
	v->rows = rows->v;
	v->count = count;
	return rc;
}

int wanted_type_reduce(struct wanted_type *w, struct query_work *work,
		       struct totals_view *v, struct total_rows *rows,
		       struct err *err)
{
	struct wanted_cursor c = { .typeset = UINT32_MAX };

	*rows = (struct total_rows){ .work = work };
	for (size_t i = 0; w->name.len && i < v->count; i++) {
		int rc = wanted_type_look(w, v, i, &c, err);

		if (rc)
			return rc;
		if (!c.has_it)
			return wanted_type_copy(w, work, v, i, rows, err);
	}
	return 0;
}
