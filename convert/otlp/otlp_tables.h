/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP tables: the dictionary of a request, as an index of the places of its
 * entries in the message. Entries are read when they are needed.
 * Source: github.com/open-telemetry/opentelemetry-proto,
 * opentelemetry/proto/profiles/v1development/profiles.proto.
 *
 * Ownership: borrows the message; otlp_tables_fini() frees the index.
 * Threads: one thread at a time.
 */
#ifndef CONVERT_OTLP_OTLP_TABLES_H
#define CONVERT_OTLP_OTLP_TABLES_H

#include "base/err.h"
#include "base/vec.h"
#include "base/wire.h"

/* The tables, by the numbers of their fields in message ProfilesDictionary. */
enum otlp_table {
	OTLP_MAPPING = 1,
	OTLP_LOCATION,
	OTLP_FUNCTION,
	OTLP_LINK,
	OTLP_STRING,
	OTLP_ATTRIBUTE,
	OTLP_STACK,
	OTLP_TABLES
};

/* Largest number of entries of all tables. */
#define OTLP_ENTRIES_MAX ((size_t)4 * 1024 * 1024)

/* Where an entry is in the message. */
struct otlp_place {
	uint32_t offset;
	uint32_t len;
};

/* The index. */
struct otlp_tables {
	struct bytes message;
	VEC(struct otlp_place) places[OTLP_TABLES];
};

/*
 * Count the entries of the dictionaries of a request; *has: it has one at all.
 * ERR_INVALID: the message is malformed. ERR_TOOBIG: there are more than
 * OTLP_ENTRIES_MAX.
 */
NODISCARD int otlp_tables_count(struct bytes message, bool *has, size_t *count,
				struct err *err);

/*
 * Make the index of a message that was counted. Several dictionaries are one, as
 * protocol buffers merge repeated fields. The caller calls otlp_tables_fini().
 */
void otlp_tables_init(struct otlp_tables *t, struct bytes message);

/* Return the memory of the index, in bytes. */
size_t otlp_tables_memory(const struct otlp_tables *t);

/* Free the index. */
void otlp_tables_fini(struct otlp_tables *t);

/*
 * Return a reader of what is inside of a field: packed numbers, or a message. Of a field
 * that has no bytes, there is nothing.
 */
static inline struct wire otlp_inside(const struct wire_field *f)
{
	const struct bytes none = { .ptr = NULL, .len = 0 };

	return wire_init(f->type == WIRE_BYTES ? f->bytes : none);
}

/* Return the number of entries of a table. */
static inline size_t otlp_tables_size(const struct otlp_tables *t,
				      enum otlp_table table)
{
	return t->places[table].count;
}

/* Return an entry; empty if there is none. */
static inline struct bytes otlp_tables_get(const struct otlp_tables *t,
					   enum otlp_table table,
					   uint64_t index)
{
	struct otlp_place p;

	if (index >= t->places[table].count)
		return (struct bytes){ .ptr = NULL, .len = 0 };
	p = t->places[table].v[index];
	return (struct bytes){ t->message.ptr + p.offset, p.len };
}

/* Return a text; empty if there is none. */
static inline struct str otlp_tables_text(const struct otlp_tables *t,
					  uint64_t index)
{
	return str_from(otlp_tables_get(t, OTLP_STRING, index));
}

#endif
