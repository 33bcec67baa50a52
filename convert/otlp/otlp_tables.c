/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/otlp/otlp_tables.h"

#define FIELD_DICTIONARY 2

/* ERR_INVALID: a message is malformed. */
static int otlp_tables_check(const struct wire *w, struct err *err)
{
	return w->bad ? err_set(err, ERR_INVALID,
				"the message is malformed or truncated") :
			0;
}

/* Count the entries of one dictionary. */
static int otlp_tables_count_one(struct bytes dictionary, size_t *count,
				 struct err *err)
{
	struct wire w = wire_init(dictionary);
	struct wire_field f = { 0 };

	while (wire_next(&w, &f)) {
		if (f.number >= OTLP_TABLES)
			continue;
		if (f.type != WIRE_BYTES)
			return err_set(
				err, ERR_INVALID,
				"table %u of the dictionary has an unexpected type: everprof reads OTLP profiles 1.8 and later",
				(unsigned)f.number);
		++*count;
	}
	return otlp_tables_check(&w, err);
}

int otlp_tables_count(struct bytes message, bool *has, size_t *count,
		      struct err *err)
{
	struct wire w = wire_init(message);
	struct wire_field f = { 0 };
	int rc = 0;

	*has = false;
	*count = 0;
	while (!rc && wire_next(&w, &f)) {
		if (f.number != FIELD_DICTIONARY || f.type != WIRE_BYTES)
			continue;
		*has = true;
		rc = otlp_tables_count_one(f.bytes, count, err);
	}
	if (!rc && *count > OTLP_ENTRIES_MAX)
		rc = err_set(err, ERR_TOOBIG,
			     "the dictionary has more than %zu entries",
			     OTLP_ENTRIES_MAX);
	return rc ? rc : otlp_tables_check(&w, err);
}

/* Add the entries of one dictionary. */
static void otlp_tables_add(struct otlp_tables *t, struct bytes dictionary)
{
	struct wire w = wire_init(dictionary);
	struct wire_field f = { 0 };

	while (wire_next(&w, &f)) {
		if (f.number < 1 || f.number >= OTLP_TABLES ||
		    f.type != WIRE_BYTES)
			continue;
		*vec_add(&t->places[f.number]) = (struct otlp_place){
			.offset = f.bytes.len ? (uint32_t)(f.bytes.ptr -
							   t->message.ptr) :
						0,
			.len = (uint32_t)f.bytes.len
		};
	}
}

void otlp_tables_init(struct otlp_tables *t, struct bytes message)
{
	struct wire w = wire_init(message);
	struct wire_field f = { 0 };

	*t = (struct otlp_tables){ .message = message };
	while (wire_next(&w, &f)) {
		if (f.number == FIELD_DICTIONARY && f.type == WIRE_BYTES)
			otlp_tables_add(t, f.bytes);
	}
}

size_t otlp_tables_memory(const struct otlp_tables *t)
{
	size_t memory = 0;

	for (size_t i = 0; i < OTLP_TABLES; i++)
		memory += vec_memory(&t->places[i]);
	return memory;
}

void otlp_tables_fini(struct otlp_tables *t)
{
	for (size_t i = 0; i < OTLP_TABLES; i++)
		vec_fini(&t->places[i]);
}
