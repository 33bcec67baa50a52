/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/jfr/jfr_labels.h"

#include "base/hash.h"
#include "convert/jfr/jfr_reader.h"

enum {
	SNAPSHOT_CONTEXTS = 1,
	SNAPSHOT_TEXTS = 2,
	CONTEXT_LABELS = 1,
	ENTRY_KEY = 1,
	ENTRY_VALUE = 2,
	/* Labels of a sample; Pyroscope permits 100. */
	LABELS_MAX = 128
};

static bool jfr_labels_same(const void *ctx, uint32_t i, const void *key)
{
	const struct jfr_map *map = ctx;

	return map->entries.v[i].key == *(const int64_t *)key;
}

/* Return the number of an entry, or TABLE_NONE. */
static uint32_t jfr_labels_find(const struct jfr_map *map, int64_t key)
{
	return table_find(&map->index, hash_foreign_number(key),
			  jfr_labels_same, map, &key);
}

/* Set an entry: of a key that occurs twice, the last counts. */
static void jfr_labels_set(struct jfr_map *map, const struct jfr_map_entry *e)
{
	uint32_t i = jfr_labels_find(map, e->key);

	if (i != TABLE_NONE) {
		map->entries.v[i] = *e;
		return;
	}
	table_add(&map->index, hash_foreign_number(e->key),
		  (uint32_t)map->entries.count);
	*vec_add(&map->entries) = *e;
}

/* Read an entry of a map: a number, and bytes or another number. */
static struct jfr_map_entry jfr_labels_entry(struct bytes message,
					     int64_t *number, bool *bad)
{
	struct jfr_map_entry e = { .key = 0 };
	struct wire w = wire_init(message);
	struct wire_field f = { 0 };

	while (wire_next(&w, &f)) {
		if (f.number == ENTRY_KEY && f.type == WIRE_VARINT)
			e.key = (int64_t)f.value;
		else if (f.number == ENTRY_VALUE && f.type == WIRE_BYTES)
			e.value = f.bytes;
		else if (f.number == ENTRY_VALUE && f.type == WIRE_VARINT)
			*number = (int64_t)f.value;
	}
	*bad |= w.bad;
	return e;
}

int jfr_labels_read(struct jfr_labels *l, struct bytes message,
		    struct convert_meter *m, struct err *err)
{
	struct wire w = wire_init(message);
	struct wire_field f = { 0 };
	int64_t unused;
	int rc = 0;

	while (!rc && wire_next(&w, &f)) {
		struct jfr_map_entry e;

		if (f.type != WIRE_BYTES || f.number > SNAPSHOT_TEXTS)
			continue;
		e = jfr_labels_entry(f.bytes, &unused, &w.bad);
		jfr_labels_set(f.number == SNAPSHOT_TEXTS ? &l->texts :
							    &l->contexts,
			       &e);
		convert_meter_note(m, sizeof(e));
		rc = convert_meter_ask(m, err);
	}
	if (!rc && w.bad)
		rc = err_set(err, ERR_INVALID,
			     "the labels of the recording are malformed");
	return rc;
}

struct str jfr_labels_text(const struct jfr_labels *l, int64_t key)
{
	uint32_t i = jfr_labels_find(&l->texts, key);

	return i == TABLE_NONE ? str_of("") :
				 str_clip(str_from(l->texts.entries.v[i].value),
					  JFR_TEXT_MAX);
}

int jfr_labels_add(const struct jfr_labels *l, int64_t context,
		   struct convert_meter *m, struct stack_build *b,
		   struct err *err)
{
	uint32_t i = jfr_labels_find(&l->contexts, context);
	struct wire w;
	struct wire_field f = { 0 };
	int labels = 0;
	int rc = 0;

	if (i == TABLE_NONE)
		return 0;
	w = wire_init(l->contexts.entries.v[i].value);
	convert_meter_note(m, l->contexts.entries.v[i].value.len);
	while (!rc && labels < LABELS_MAX && wire_next(&w, &f)) {
		int64_t value = 0;
		struct jfr_map_entry e;
		struct str key;
		struct str text;

		if (f.number != CONTEXT_LABELS || f.type != WIRE_BYTES)
			continue;
		e = jfr_labels_entry(f.bytes, &value, &w.bad);
		key = jfr_labels_text(l, e.key);
		text = jfr_labels_text(l, value);
		if (!key.len || !text.len)
			continue;
		stack_build_label(b, key, text);
		convert_meter_note(m, key.len + text.len);
		rc = convert_meter_ask(m, err);
		labels++;
	}
	return rc;
}

/* Return the memory of the index of a map, in bytes. */
static size_t jfr_labels_map_memory(const struct jfr_map *map)
{
	return vec_memory(&map->entries) + table_memory(&map->index);
}

size_t jfr_labels_memory(const struct jfr_labels *l)
{
	return jfr_labels_map_memory(&l->contexts) +
	       jfr_labels_map_memory(&l->texts);
}

/* Free the index of a map. */
static void jfr_labels_map_fini(struct jfr_map *map)
{
	vec_fini(&map->entries);
	table_fini(&map->index);
}

void jfr_labels_fini(struct jfr_labels *l)
{
	jfr_labels_map_fini(&l->contexts);
	jfr_labels_map_fini(&l->texts);
}
