/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/rows/reencode_fields.h"

#include "pprof/dictionary/layout.h"
#include "pprof/proto/fields.h"
#include "pprof/rows/reencode_private.h"

/* The rules are in docs/format/columns.md, "Dialects". */
bool reencode_is_packed(const struct replay *r, size_t count)
{
	return r->dialect == DIALECT_PROTO ? count > 0 : count > 2;
}

/* Go's runtime also writes a type or unit with string id 0; others do not. */
void reencode_value_type(struct replay *r, unsigned field,
			 const uint32_t *texts)
{
	uint8_t *p = reencode_room(r, 2 * FIELD_MAX + FIELD_MAX);
	/*
	 * Assign both ids, type first, even if there is no room to write them.
	 */
	uint32_t type = reencode_string_id(r, texts[0]);
	uint32_t unit = reencode_string_id(r, texts[1]);
	uint8_t *start;

	if (!p)
		return;
	start = p = reencode_message_begin(p, field);
	if (r->dialect == DIALECT_GO) {
		p = reencode_put_number(p, 1, type);
		p = reencode_put_number(p, 2, unit);
	} else {
		p = reencode_put_optional(p, 1, type);
		p = reencode_put_optional(p, 2, unit);
	}
	reencode_wrote(r, reencode_message_end(start, p));
}

/* Write one mapping; the four flags are consecutive fields. */
static void write_mapping(struct replay *r, const struct dict_binding *b,
			  uint32_t id)
{
	const struct dict_mapping *m = &r->d->mappings.v[b->mapping];
	uint8_t *p = reencode_room(r, (MAPPING_FIELDS + 1) * FIELD_MAX);
	uint8_t *start;

	if (!p)
		return;
	start = p = reencode_message_begin(p, PROFILE_MAPPING);
	p = reencode_put_optional(p, MAPPING_ID + 1, id);
	p = reencode_put_optional(p, MAPPING_START + 1, b->start);
	p = reencode_put_optional(p, MAPPING_LIMIT + 1, b->start + m->size);
	p = reencode_put_optional(p, MAPPING_OFFSET + 1, m->offset);
	p = reencode_put_optional(p, MAPPING_FILE + 1,
				  reencode_string_id(r, m->file));
	p = reencode_put_optional(p, MAPPING_BUILD_ID + 1,
				  reencode_string_id(r, m->build_id));
	for (unsigned i = 0; i < 4; i++)
		p = reencode_put_optional(p, MAPPING_HAS_FUNCTIONS + 1 + i,
					  b->flags >> i & 1);
	reencode_wrote(r, reencode_message_end(start, p));
}

/* The ids of mappings are 1, 2, …, in the order of the layout. */
void reencode_mappings(struct replay *r)
{
	struct pprof_run layout = r->d->layouts.v[r->row->layout];

	for (uint32_t i = 0; i < layout.count && !reencode_is_full(r); i++)
		write_mapping(r, &r->d->bindings.v[layout.first + i], i + 1);
}

/* Write one function. */
static void write_function(struct replay *r, uint32_t place, uint32_t id)
{
	const struct pprof_function *f = &r->d->functions.v[place];
	uint8_t *p = reencode_room(r, (FUNCTION_FIELDS + 1) * FIELD_MAX);
	uint8_t *start;

	if (!p)
		return;
	start = p = reencode_message_begin(p, PROFILE_FUNCTION);
	p = reencode_put_optional(p, FUNCTION_ID + 1, id);
	p = reencode_put_optional(p, FUNCTION_NAME + 1,
				  reencode_string_id(r, f->name));
	p = reencode_put_optional(p, FUNCTION_SYSTEM_NAME + 1,
				  reencode_string_id(r, f->system_name));
	p = reencode_put_optional(p, FUNCTION_FILE + 1,
				  reencode_string_id(r, f->file));
	p = reencode_put_optional(p, FUNCTION_START_LINE + 1,
				  (uint64_t)f->start_line);
	reencode_wrote(r, reencode_message_end(start, p));
}

/*
 * Continues with function r->written, because in Go's dialect the new functions
 * are written after each location.
 */
void reencode_functions(struct replay *r)
{
	const struct numbering *n = &r->functions;

	for (; r->written < n->ordered.count && !reencode_is_full(r);
	     r->written++)
		write_function(r, n->ordered.v[r->written],
			       (uint32_t)r->written + 1);
}

/* Append one line of a location; its function gets an id if it has none. */
static uint8_t *reencode_put_line(struct replay *r, uint8_t *p,
				  const struct pprof_line *l)
{
	struct numbering *n = &r->functions;
	uint32_t id = n->ids[l->function];
	uint8_t *start;

	if (!id)
		id = reencode_id(n, l->function);
	start = p = reencode_message_begin(p, LOCATION_LINE);
	p = reencode_put_optional(p, LINE_FUNCTION + 1, id);
	p = reencode_put_optional(p, LINE_LINE + 1, (uint64_t)l->line);
	p = reencode_put_optional(p, LINE_COLUMN + 1, (uint64_t)l->column);
	return reencode_message_end(start, p);
}

/* The dialects differ in the position of the mapping among the fields. */
void reencode_location(struct replay *r, uint32_t place, uint32_t id)
{
	const struct pprof_location *l = &r->d->locations.v[place];
	const struct pprof_line *line = r->d->lines.v + l->lines.first;
	bool mapped = l->mapping != PPROF_NONE;
	uint32_t mapping = mapped ? r->mapping_ids[l->mapping] : 0;
	uint64_t address = l->address + (mapped ? r->starts[l->mapping] : 0);
	uint8_t *start;
	uint8_t *p;

	/* A location of a damaged table may have very many lines. */
	if (!reencode_fits(r, l->lines.count))
		return;
	p = reencode_room(r, (LOCATION_FOLDED + 1) * FIELD_MAX +
				     l->lines.count *
					     ((LINE_FIELDS + 1) * FIELD_MAX));
	if (!p)
		return;
	start = p = reencode_message_begin(p, PROFILE_LOCATION);
	p = reencode_put_optional(p, LOCATION_ID, id);
	if (r->dialect != DIALECT_GO)
		p = reencode_put_optional(p, LOCATION_MAPPING, mapping);
	p = reencode_put_optional(p, LOCATION_ADDRESS, address);
	for (uint32_t i = 0; i < l->lines.count; i++)
		p = reencode_put_line(r, p, &line[i]);
	if (r->dialect == DIALECT_GO)
		p = reencode_put_optional(p, LOCATION_MAPPING, mapping);
	p = reencode_put_optional(p, LOCATION_FOLDED, l->folded);
	reencode_wrote(r, reencode_message_end(start, p));
}

/*
 * Writes only the locations to which samples refer, in the order of their ids.
 */
void reencode_locations(struct replay *r)
{
	const struct numbering *n = &r->locations;

	for (size_t i = 0; i < n->ordered.count && !reencode_is_full(r); i++)
		reencode_location(r, n->ordered.v[i], (uint32_t)i + 1);
}

/*
 * Writers leave out a number that is 0, except in the fields for which the
 * caller sets `always`.
 */
void reencode_number(struct replay *r, unsigned field, uint64_t v, bool always)
{
	uint8_t *p = reencode_room(r, FIELD_MAX);

	if (p && (v || always))
		reencode_wrote(r, reencode_put_number(p, field, v));
}

/* A comment is written as the id of a string. */
void reencode_comments(struct replay *r, const struct shape_op *op)
{
	bool packed = reencode_is_packed(r, op->count);
	uint8_t *p = reencode_room(r, (op->count + 1) * FIELD_MAX);
	uint8_t *start = p;

	if (!p)
		return;
	if (packed)
		start = p = reencode_message_begin(p, PROFILE_COMMENT);
	for (size_t i = 0; i < op->count; i++) {
		uint32_t id = reencode_string_id(r, op->operands[i]);

		p = packed ? reencode_put_varint(p, id) :
			     reencode_put_number(p, PROFILE_COMMENT, id);
	}
	reencode_wrote(r, packed ? reencode_message_end(start, p) : p);
}

/*
 * Writes the string table. It precedes fields that refer to strings, so ids are
 * assigned first to the strings of those fields, in the order of the fields.
 */
void reencode_strings(struct replay *r)
{
	struct shape_walk rest = r->walk;
	const struct numbering *n = &r->strings;
	struct shape_op op;

	while (shape_next(&rest, &op)) {
		for (size_t i = 0; i < op.count; i++)
			reencode_string_id(r, op.operands[i]);
	}
	for (size_t i = 0; i < n->ordered.count && !reencode_is_full(r); i++) {
		struct str s = dict_str(r->d, n->ordered.v[i]);
		uint8_t *p = reencode_room(r, s.len + FIELD_MAX);

		if (!p)
			return;
		*p++ = PROFILE_STRING << 3 | WIRE_BYTES;
		p = reencode_put_varint(p, s.len);
		memcpy(p, s.ptr, s.len);
		reencode_wrote(r, p + s.len);
	}
}
