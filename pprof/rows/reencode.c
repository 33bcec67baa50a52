/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/rows/reencode.h"

#include "base/wire.h"
#include "pprof/dictionary/layout.h"
#include "pprof/proto/fields.h"

/* Longest encoding of a 64-bit number, in bytes. */
#define VARINT_MAX 10

/*
 * Longest field with a number, in bytes: one byte for field number and wire
 * type, then the number.
 */
#define FIELD_MAX ((size_t)1 + VARINT_MAX)

/*
 * The ids of the elements of one kind in a profile, assigned in the order in
 * which the elements are first written.
 */
struct numbering {
	/* Id of each element of the dictionary; 0: not assigned yet. */
	uint32_t *ids;
	/* The elements that have an id, in the order of their ids from 1. */
	VEC(uint32_t) ordered;
	/* Number of elements in `ids`. */
	size_t cap;
};

/* A replay: the workspace, then the state of writing the current row. */
struct replay {
	struct numbering strings;
	struct numbering functions;
	struct numbering locations;
	/*
	 * For each mapping of the dictionary: its id in the profile; 0: none.
	 */
	uint32_t *mapping_ids;
	size_t mapping_cap;
	VEC(uint32_t) stack; /* ids of the current sample's locations */

	/* The row (stored profile) being written, and its dictionary. */
	const struct dictionary *d;
	const struct row *row;
	enum dialect dialect;
	struct layout_walk_shape walk;
	size_t written; /* number of functions that have been written */
	/*
	 * For each mapping of the dictionary: its start address in the profile.
	 */
	uint64_t *starts;
	struct buf *out;
	size_t limit; /* maximum length of `out` */
};

/* Assign the next id to element `place` of the dictionary. */
static inline uint32_t reencode_id(struct numbering *n, uint32_t place)
{
	*vec_add(&n->ordered) = place;
	n->ids[place] = (uint32_t)n->ordered.count;
	return n->ids[place];
}

/*
 * Return the id of string `place` of the dictionary; assign an id if there is
 * none. String ids start at 0, which is the empty string.
 */
static inline uint32_t reencode_string_id(struct replay *r, uint32_t place)
{
	struct numbering *n = &r->strings;
	uint32_t id = n->ids[place];

	return (id ? id : reencode_id(n, place)) - 1;
}

/* Write a varint at p and return its end. The caller has checked the room. */
static inline uint8_t *reencode_put_varint(uint8_t *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = (uint8_t)v | 0x80;
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

/* Write a field with a number at p, and return its end. */
static inline uint8_t *reencode_put_number(uint8_t *p, unsigned field,
					   uint64_t v)
{
	*p++ = (uint8_t)(field << 3 | WIRE_VARINT);
	return reencode_put_varint(p, v);
}

/*
 * Write a field as reencode_put_number() does, or nothing if the number is 0.
 */
static inline uint8_t *reencode_put_optional(uint8_t *p, unsigned field,
					     uint64_t v)
{
	return v ? reencode_put_number(p, field, v) : p;
}

/*
 * Make room for n more bytes at the end of the output and return their address;
 * NULL if the output would exceed its maximum size.
 */
static inline uint8_t *reencode_room(struct replay *r, size_t n)
{
	return buf_reserve(r->out, n) ? r->out->ptr + r->out->len : NULL;
}

/*
 * Whether the output exceeds the limit. A damaged row could otherwise make a
 * replay write more than the caller allows.
 */
static inline bool reencode_is_full(const struct replay *r)
{
	return r->out->over || r->out->len > r->limit;
}

/*
 * Whether n more elements of at least one byte each fit into the limit. If not,
 * marks the output as too large.
 */
static inline bool reencode_fits(struct replay *r, size_t n)
{
	if (r->out->len <= r->limit && n <= r->limit - r->out->len)
		return true;
	r->out->over = true;
	return false;
}

/* Make the bytes that were written up to `end` part of the output. */
static inline void reencode_wrote(struct replay *r, const uint8_t *end)
{
	r->out->len = (size_t)(end - r->out->ptr);
}

/*
 * Writes all fields of a profile except samples to the output of a replay
 * (reencode.h: a profile written again from the columns), as the profile's
 * original writer wrote them. If the output exceeds its maximum size, its flag
 * `over` is set.
 */

/*
 * Whether the dialect packs `count` repeated numbers into one field. The rules
 * are in docs/format/columns.md, "Dialects".
 */
static bool reencode_is_packed(const struct replay *r, size_t count)
{
	return r->dialect == DIALECT_PROTO ? count > 0 : count > 2;
}

/*
 * Write the start of a message in the given field at p, and return the address
 * at which its content begins. The caller passes this address to
 * reencode_message_end().
 *
 * Reserves one byte for the length.
 */
static uint8_t *reencode_message_begin(uint8_t *p, unsigned field)
{
	*p = (uint8_t)(field << 3 | WIRE_BYTES);
	return p + 2;
}

/*
 * Complete a message whose content is between `start` and p: write its length
 * in front of the content, which moves if the length takes more than one byte.
 * Returns the new end. There must be room for VARINT_MAX - 1 more bytes.
 */
static uint8_t *reencode_message_end(uint8_t *start, uint8_t *p)
{
	size_t len = (size_t)(p - start);
	size_t more = wire_varint_len(len) - 1;

	if (more)
		memmove(start + more, start, len);
	reencode_put_varint(start - 1, len);
	return p + more;
}

/*
 * Write a message of type ValueType as the given field: texts[0] is the text
 * number of its type, texts[1] of its unit.
 *
 * Go's runtime also writes a type or unit with string id 0; others do not.
 */
static void reencode_value_type(struct replay *r, unsigned field,
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

/*
 * Write the mappings of the row's profile, in the order of its layout, with the
 * ids 1, 2, …
 */
static void reencode_mappings(struct replay *r)
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
 * Write the functions that were given an id since the last call.
 *
 * Continues with function r->written, because in Go's dialect the new functions
 * are written after each location.
 */
static void reencode_functions(struct replay *r)
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

/*
 * Write the location with the index `place` in the dictionary; `id` is its id
 * in the profile. Functions to which the location refers get ids if they have
 * none.
 *
 * The dialects differ in the position of the mapping among the fields.
 */
static void reencode_location(struct replay *r, uint32_t place, uint32_t id)
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
 * Write the locations that have an id, which are those that samples refer to,
 * in the order of their ids.
 */
static void reencode_locations(struct replay *r)
{
	const struct numbering *n = &r->locations;

	for (size_t i = 0; i < n->ordered.count && !reencode_is_full(r); i++)
		reencode_location(r, n->ordered.v[i], (uint32_t)i + 1);
}

/*
 * Write a field with a number; a 0 is left out, as writers do, unless `always`
 * is set.
 */
static void reencode_number(struct replay *r, unsigned field, uint64_t v,
			    bool always)
{
	uint8_t *p = reencode_room(r, FIELD_MAX);

	if (p && (v || always))
		reencode_wrote(r, reencode_put_number(p, field, v));
}

/*
 * Write the comments of an operation (a field of the shape, layout.h), each as
 * the id of a string.
 */
static void reencode_comments(struct replay *r, const struct shape_op *op)
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
 * Write the string table. It includes strings to which only later fields refer.
 * It precedes fields that refer to strings, so ids are assigned first to the
 * strings of those fields, in the order of the fields.
 */
static void reencode_strings(struct replay *r)
{
	struct layout_walk_shape rest = r->walk;
	const struct numbering *n = &r->strings;
	struct shape_op op;

	while (layout_next_shape(&rest, &op)) {
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
		bytes_copy(p, bytes_of(s));
		reencode_wrote(r, p + s.len);
	}
}

struct replay *replay_new(void)
{
	return mem_new(struct replay);
}

/* Free the arrays of a numbering (the ids of one kind of element). */
static void numbering_fini(struct numbering *n)
{
	mem_free(n->ids);
	vec_fini(&n->ordered);
}

void replay_free(struct replay *r)
{
	if (!r)
		return;
	numbering_fini(&r->strings);
	numbering_fini(&r->functions);
	numbering_fini(&r->locations);
	mem_free(r->mapping_ids);
	mem_free(r->starts);
	vec_fini(&r->stack);
	mem_free(r);
}

/* Memory of a numbering, in bytes. */
static size_t numbering_memory(const struct numbering *n)
{
	return n->cap * sizeof(*n->ids) + vec_memory(&n->ordered);
}

size_t replay_memory(const struct replay *r)
{
	return sizeof(*r) + numbering_memory(&r->strings) +
	       numbering_memory(&r->functions) +
	       numbering_memory(&r->locations) + vec_memory(&r->stack) +
	       r->mapping_cap * (sizeof(uint32_t) + sizeof(uint64_t));
}

/*
 * Forget all ids. Only the elements that were numbered are cleared, so that a
 * small profile of a large dictionary is cheap.
 */
static void numbering_reset(struct numbering *n, size_t count)
{
	if (count > n->cap) {
		n->ids = mem_realloc(n->ids, count, sizeof(*n->ids));
		memset(n->ids + n->cap, 0, (count - n->cap) * sizeof(*n->ids));
		n->cap = count;
	}
	for (size_t i = 0; i < n->ordered.count; i++)
		n->ids[n->ordered.v[i]] = 0;
	n->ordered.count = 0;
}

/* Append one label of a sample. */
static uint8_t *reencode_put_label(struct replay *r, uint8_t *p,
				   const struct pprof_label *l)
{
	uint8_t *start = p = reencode_message_begin(p, SAMPLE_LABEL);

	p = reencode_put_optional(p, LABEL_KEY + 1,
				  reencode_string_id(r, l->key));
	if (l->is_number) {
		p = reencode_put_optional(p, LABEL_NUM + 1, (uint64_t)l->num);
		p = reencode_put_optional(p, LABEL_UNIT + 1,
					  reencode_string_id(r, l->unit));
	} else {
		p = reencode_put_optional(p, LABEL_STR + 1,
					  reencode_string_id(r, l->str));
	}
	return reencode_message_end(start, p);
}

/* Append the values of a sample. */
static uint8_t *put_values(const struct replay *r, uint8_t *p, size_t sample)
{
	const struct row *row = r->row;
	bool packed = reencode_is_packed(r, row->types);
	uint8_t *start = p;

	if (packed)
		start = p = reencode_message_begin(p, SAMPLE_VALUE);
	for (size_t t = 0; t < row->types; t++) {
		uint64_t v = (uint64_t)row->values[t * row->stride + sample];

		p = packed ? reencode_put_varint(p, v) :
			     reencode_put_number(p, SAMPLE_VALUE, v);
	}
	return packed ? reencode_message_end(start, p) : p;
}

/* Append the location ids in r->stack, innermost first. */
static uint8_t *put_stack(const struct replay *r, uint8_t *p)
{
	const uint32_t *ids = r->stack.v;
	size_t depth = r->stack.count;
	bool packed = reencode_is_packed(r, depth);
	uint8_t *start = p;

	if (packed)
		start = p = reencode_message_begin(p, SAMPLE_LOCATION);
	for (size_t i = 0; i < depth; i++)
		p = packed ? reencode_put_varint(p, ids[i]) :
			     reencode_put_number(p, SAMPLE_LOCATION, ids[i]);
	return packed ? reencode_message_end(start, p) : p;
}

/*
 * Assign an id to a location. In Go's dialect, also write the location and the
 * functions that it is the first to use, because that dialect has them before
 * the sample.
 */
static uint32_t new_location(struct replay *r, uint32_t place)
{
	uint32_t id = reencode_id(&r->locations, place);

	if (r->dialect == DIALECT_GO) {
		reencode_location(r, place, id);
		reencode_functions(r);
	}
	return id;
}

/*
 * Make room for more ids in r->stack, which has `depth` ids so far. The count
 * is set because vec_reserve() keeps only counted elements.
 */
static void grow_stack(struct replay *r, size_t depth)
{
	r->stack.count = depth;
	vec_reserve(&r->stack, depth + 64);
}

/*
 * Fill r->stack with the ids of a stack's locations, innermost first. New
 * locations get their ids in this order, as in the original profile.
 */
static void number_stack(struct replay *r, uint32_t node)
{
	const struct dict_node *nodes = r->d->nodes.v;
	size_t depth = 0;

	for (; node != DICT_ROOT && !reencode_is_full(r);
	     node = nodes[node].parent) {
		uint32_t place = nodes[node].location;
		uint32_t id = r->locations.ids[place];

		if (depth == r->stack.cap)
			grow_stack(r, depth);
		r->stack.v[depth++] = id ? id : new_location(r, place);
	}
	r->stack.count = depth;
}

/*
 * Write one sample. Reserves room for it only after number_stack(), which may
 * write locations before the sample.
 */
static void write_sample(struct replay *r, size_t sample)
{
	struct pprof_sample key = r->d->keys.v[r->row->keys[sample]];
	struct pprof_run set = r->d->label_sets.v[key.labels];
	uint8_t *p;
	uint8_t *start;

	number_stack(r, key.stack);
	/* Do not reserve room for a stack that cannot fit anyway. */
	if (!reencode_fits(r, r->stack.count + set.count))
		return;
	p = reencode_room(r,
			  3 * FIELD_MAX +
				  (r->stack.count + r->row->types) * FIELD_MAX +
				  (size_t)set.count * 4 * FIELD_MAX);
	if (!p)
		return;
	start = p = reencode_message_begin(p, PROFILE_SAMPLE);
	if (r->dialect == DIALECT_GO)
		p = put_values(r, p, sample);
	p = put_stack(r, p);
	if (r->dialect != DIALECT_GO)
		p = put_values(r, p, sample);
	for (uint32_t i = 0; i < set.count; i++)
		p = reencode_put_label(r, p, &r->d->labels.v[set.first + i]);
	reencode_wrote(r, reencode_message_end(start, p));
}

/* Write all samples of the row. */
static void reencode_write_samples(struct replay *r)
{
	for (size_t i = 0; i < r->row->samples && !reencode_is_full(r); i++)
		write_sample(r, i);
}

/*
 * Write the fields of one operation of the shape (the list of fields,
 * layout.h).
 */
static void write_op(struct replay *r, const struct shape_op *op)
{
	bool pprof = r->dialect == DIALECT_PPROF;

	switch (op->field) {
	case PROFILE_SAMPLE_TYPE:
	case PROFILE_PERIOD_TYPE:
		reencode_value_type(r, op->field, op->operands);
		break;
	case PROFILE_SAMPLE:
		reencode_write_samples(r);
		break;
	case PROFILE_MAPPING:
		reencode_mappings(r);
		break;
	case PROFILE_LOCATION:
		reencode_locations(r);
		break;
	case PROFILE_FUNCTION:
		reencode_functions(r);
		break;
	case PROFILE_STRING:
		reencode_strings(r);
		break;
	case PROFILE_TIME:
		reencode_number(r, op->field, (uint64_t)r->row->time_ns, false);
		break;
	case PROFILE_DURATION:
		reencode_number(r, op->field, (uint64_t)r->row->duration_ns,
				false);
		break;
	case PROFILE_PERIOD:
		reencode_number(r, op->field, (uint64_t)r->row->period, false);
		break;
	case PROFILE_COMMENT:
		reencode_comments(r, op);
		break;
	/*
	 * The remaining fields have one text: frames to drop or keep, default
	 * type, URL.
	 */
	default:
		reencode_number(r, op->field,
				reencode_string_id(r, op->operands[0]),
				pprof && op->field == PROFILE_DEFAULT_TYPE);
		break;
	}
}

/* Set the id and the start address of each mapping in this profile. */
static void place_mappings(struct replay *r)
{
	struct pprof_run layout = r->d->layouts.v[r->row->layout];
	size_t count = r->d->mappings.count;

	if (count > r->mapping_cap) {
		r->mapping_ids = mem_realloc(r->mapping_ids, count,
					     sizeof(*r->mapping_ids));
		r->starts = mem_realloc(r->starts, count, sizeof(*r->starts));
		r->mapping_cap = count;
	}
	for (size_t i = 0; i < count; i++) {
		r->mapping_ids[i] = 0;
		r->starts[i] = 0;
	}
	for (uint32_t i = 0; i < layout.count; i++) {
		const struct dict_binding *b =
			&r->d->bindings.v[layout.first + i];

		r->mapping_ids[b->mapping] = i + 1;
		r->starts[b->mapping] = b->start;
	}
}

int replay_row(struct replay *r, const struct dictionary *d,
	       const struct row *row, size_t max, struct buf *out,
	       struct err *err)
{
	struct shape_op op;

	r->d = d;
	r->row = row;
	r->out = out;
	r->limit = out->len + max;
	r->written = 0;
	numbering_reset(&r->strings, d->strings.strings.count);
	numbering_reset(&r->functions, d->functions.count);
	numbering_reset(&r->locations, d->locations.count);
	/* In every string table, string 0 is the empty string. */
	reencode_id(&r->strings, 0);
	place_mappings(r);
	r->walk = layout_walk_shape(d, row->shape, &r->dialect);
	while (layout_next_shape(&r->walk, &op) && !reencode_is_full(r))
		write_op(r, &op);
	if (reencode_is_full(r))
		return err_set(err, ERR_TOOBIG,
			       "the profile is larger than %zu bytes", max);
	return 0;
}
