/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/columns/replay.h"

#include "pprof/columns/shape.h"
#include "pprof/fields.h"
#include "pprof/wire.h"

#define VARINT_MAX 10
#define FIELD_MAX  ((size_t)1 + VARINT_MAX) /* a field's key and its number */

/* Ids of a profile, given when a thing is first written. */
struct numbering {
	uint32_t *ids;         /* by place in the dictionary; 0: none yet */
	VEC(uint32_t) ordered; /* places, by id - 1 */
	size_t cap;
};

struct replay {
	struct numbering strings;
	struct numbering functions;
	struct numbering locations;
	uint32_t *mapping_ids; /* by mapping of the dictionary */
	size_t mapping_cap;
	VEC(uint32_t) stack; /* ids of a sample's locations */

	/* The row. */
	const struct dictionary *d;
	const struct row *row;
	enum dialect dialect;
	struct shape_walk walk;
	size_t written; /* functions in the output, in Go's dialect */
	uint64_t *starts;
	struct buf *out;
	size_t limit; /* of out's length */
};

struct replay *replay_new(void)
{
	return mem_new(struct replay);
}

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

/* No ids yet for any of count things. */
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

/* Give the next id. */
static uint32_t number_of(struct numbering *n, uint32_t place)
{
	*vec_add(&n->ordered) = place;
	n->ids[place] = (uint32_t)n->ordered.count;
	return n->ids[place];
}

/* Strings are numbered from 0, the empty one. */
static inline uint32_t string(struct replay *r, uint32_t place)
{
	struct numbering *n = &r->strings;
	uint32_t id = n->ids[place];

	return (id ? id : number_of(n, place)) - 1;
}

/* Output. A message's room is asked for as a whole, before it is written. */

static inline uint8_t *put_varint(uint8_t *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = (uint8_t)v | 0x80;
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

static inline uint8_t *put_number(uint8_t *p, unsigned field, uint64_t v)
{
	*p++ = (uint8_t)(field << 3 | WIRE_VARINT);
	return put_varint(p, v);
}

static inline uint8_t *put_optional(uint8_t *p, unsigned field, uint64_t v)
{
	return v ? put_number(p, field, v) : p;
}

/* A message begins: its length is written behind it, and mostly is a byte. */
static inline uint8_t *message_begin(uint8_t *p, unsigned field)
{
	*p = (uint8_t)(field << 3 | WIRE_BYTES);
	return p + 2;
}

static inline uint8_t *message_end(uint8_t *start, uint8_t *p)
{
	size_t len = (size_t)(p - start);
	size_t more = wire_varint_len(len) - 1;

	if (more)
		memmove(start + more, start, len);
	put_varint(start - 1, len);
	return p + more;
}

static uint8_t *room(struct replay *r, size_t n)
{
	return buf_reserve(r->out, n) ? r->out->ptr + r->out->len : NULL;
}

/* A damaged row must not write more than was asked for. */
static bool is_full(const struct replay *r)
{
	return r->out->over || r->out->len > r->limit;
}

/* Whether n things more, of a byte at least, can be within the limit. */
static bool fits(struct replay *r, size_t n)
{
	if (r->out->len <= r->limit && n <= r->limit - r->out->len)
		return true;
	r->out->over = true;
	return false;
}

static void wrote(struct replay *r, const uint8_t *end)
{
	r->out->len = (size_t)(end - r->out->ptr);
}

/* Many numbers of one field: in a row when there are more than two. */
static bool is_packed(const struct replay *r, size_t count)
{
	return r->dialect == DIALECT_PROTO ? count > 0 : count > 2;
}

/* Fields of a profile. */

static void write_value_type(struct replay *r, unsigned field,
			     const uint32_t *texts)
{
	uint8_t *p = room(r, 2 * FIELD_MAX + FIELD_MAX);
	uint32_t type = string(r, texts[0]);
	uint32_t unit = string(r, texts[1]);
	uint8_t *start;

	if (!p)
		return;
	start = p = message_begin(p, field);
	if (r->dialect == DIALECT_GO) {
		p = put_number(p, 1, type);
		p = put_number(p, 2, unit);
	} else {
		p = put_optional(p, 1, type);
		p = put_optional(p, 2, unit);
	}
	wrote(r, message_end(start, p));
}

static void write_mapping(struct replay *r, const struct dict_binding *b,
			  uint32_t id)
{
	const struct dict_mapping *m = &r->d->mappings.v[b->mapping];
	uint8_t *p = room(r, (MAPPING_FIELDS + 1) * FIELD_MAX);
	uint8_t *start;

	if (!p)
		return;
	start = p = message_begin(p, PROFILE_MAPPING);
	p = put_optional(p, MAPPING_ID + 1, id);
	p = put_optional(p, MAPPING_START + 1, b->start);
	p = put_optional(p, MAPPING_LIMIT + 1, b->start + m->size);
	p = put_optional(p, MAPPING_OFFSET + 1, m->offset);
	p = put_optional(p, MAPPING_FILE + 1, string(r, m->file));
	p = put_optional(p, MAPPING_BUILD_ID + 1, string(r, m->build_id));
	for (unsigned i = 0; i < 4; i++)
		p = put_optional(p, MAPPING_HAS_FUNCTIONS + 1 + i,
				 b->flags >> i & 1);
	wrote(r, message_end(start, p));
}

static void write_mappings(struct replay *r)
{
	struct pprof_run layout = r->d->layouts.v[r->row->layout];

	for (uint32_t i = 0; i < layout.count && !is_full(r); i++)
		write_mapping(r, &r->d->bindings.v[layout.first + i], i + 1);
}

static void write_function(struct replay *r, uint32_t place, uint32_t id)
{
	const struct pprof_function *f = &r->d->functions.v[place];
	uint8_t *p = room(r, (FUNCTION_FIELDS + 1) * FIELD_MAX);
	uint8_t *start;

	if (!p)
		return;
	start = p = message_begin(p, PROFILE_FUNCTION);
	p = put_optional(p, FUNCTION_ID + 1, id);
	p = put_optional(p, FUNCTION_NAME + 1, string(r, f->name));
	p = put_optional(p, FUNCTION_SYSTEM_NAME + 1,
			 string(r, f->system_name));
	p = put_optional(p, FUNCTION_FILE + 1, string(r, f->file));
	p = put_optional(p, FUNCTION_START_LINE + 1, (uint64_t)f->start_line);
	wrote(r, message_end(start, p));
}

/* The functions that were met since the last call. */
static void write_functions(struct replay *r)
{
	const struct numbering *n = &r->functions;

	for (; r->written < n->ordered.count && !is_full(r); r->written++)
		write_function(r, n->ordered.v[r->written],
			       (uint32_t)r->written + 1);
}

static uint8_t *put_line(struct replay *r, uint8_t *p,
			 const struct pprof_line *l)
{
	struct numbering *n = &r->functions;
	uint32_t id = n->ids[l->function];
	uint8_t *start;

	if (!id)
		id = number_of(n, l->function);
	start = p = message_begin(p, LOCATION_LINE);
	p = put_optional(p, LINE_FUNCTION + 1, id);
	p = put_optional(p, LINE_LINE + 1, (uint64_t)l->line);
	p = put_optional(p, LINE_COLUMN + 1, (uint64_t)l->column);
	return message_end(start, p);
}

static void write_location(struct replay *r, uint32_t place, uint32_t id)
{
	const struct pprof_location *l = &r->d->locations.v[place];
	const struct pprof_line *line = r->d->lines.v + l->lines.first;
	bool mapped = l->mapping != PPROF_NONE;
	uint32_t mapping = mapped ? r->mapping_ids[l->mapping] : 0;
	uint64_t address = l->address + (mapped ? r->starts[l->mapping] : 0);
	uint8_t *start;
	uint8_t *p;

	if (!fits(r, l->lines.count))
		return;
	p = room(r, (LOCATION_FOLDED + 1) * FIELD_MAX +
			    l->lines.count * ((LINE_FIELDS + 1) * FIELD_MAX));
	if (!p)
		return;
	start = p = message_begin(p, PROFILE_LOCATION);
	p = put_optional(p, LOCATION_ID, id);
	if (r->dialect != DIALECT_GO)
		p = put_optional(p, LOCATION_MAPPING, mapping);
	p = put_optional(p, LOCATION_ADDRESS, address);
	for (uint32_t i = 0; i < l->lines.count; i++)
		p = put_line(r, p, &line[i]);
	if (r->dialect == DIALECT_GO)
		p = put_optional(p, LOCATION_MAPPING, mapping);
	p = put_optional(p, LOCATION_FOLDED, l->folded);
	wrote(r, message_end(start, p));
}

static void write_locations(struct replay *r)
{
	const struct numbering *n = &r->locations;

	for (size_t i = 0; i < n->ordered.count && !is_full(r); i++)
		write_location(r, n->ordered.v[i], (uint32_t)i + 1);
}

/* Samples. */

static uint8_t *put_label(struct replay *r, uint8_t *p,
			  const struct pprof_label *l)
{
	uint8_t *start = p = message_begin(p, SAMPLE_LABEL);

	p = put_optional(p, LABEL_KEY + 1, string(r, l->key));
	if (l->is_number) {
		p = put_optional(p, LABEL_NUM + 1, (uint64_t)l->num);
		p = put_optional(p, LABEL_UNIT + 1, string(r, l->unit));
	} else {
		p = put_optional(p, LABEL_STR + 1, string(r, l->str));
	}
	return message_end(start, p);
}

static uint8_t *put_values(const struct replay *r, uint8_t *p, size_t sample)
{
	const struct row *row = r->row;
	bool packed = is_packed(r, row->types);
	uint8_t *start = p;

	if (packed)
		start = p = message_begin(p, SAMPLE_VALUE);
	for (size_t t = 0; t < row->types; t++) {
		uint64_t v = (uint64_t)row->values[t * row->stride + sample];

		p = packed ? put_varint(p, v) : put_number(p, SAMPLE_VALUE, v);
	}
	return packed ? message_end(start, p) : p;
}

static uint8_t *put_stack(const struct replay *r, uint8_t *p)
{
	const uint32_t *ids = r->stack.v;
	size_t depth = r->stack.count;
	bool packed = is_packed(r, depth);
	uint8_t *start = p;

	if (packed)
		start = p = message_begin(p, SAMPLE_LOCATION);
	for (size_t i = 0; i < depth; i++)
		p = packed ? put_varint(p, ids[i]) :
			     put_number(p, SAMPLE_LOCATION, ids[i]);
	return packed ? message_end(start, p) : p;
}

/* A location that is new in Go's dialect is written before its sample. */
static uint32_t new_location(struct replay *r, uint32_t place)
{
	uint32_t id = number_of(&r->locations, place);

	if (r->dialect == DIALECT_GO) {
		write_location(r, place, id);
		write_functions(r);
	}
	return id;
}

static void grow_stack(struct replay *r, size_t depth)
{
	r->stack.count = depth;
	vec_reserve(&r->stack, depth + 64);
}

/* The ids of a stack's locations; those that are new are given one. */
static void number_stack(struct replay *r, uint32_t node)
{
	const struct dict_node *nodes = r->d->nodes.v;
	size_t depth = 0;

	for (; node != DICT_ROOT && !is_full(r); node = nodes[node].parent) {
		uint32_t place = nodes[node].location;
		uint32_t id = r->locations.ids[place];

		if (depth == r->stack.cap)
			grow_stack(r, depth);
		r->stack.v[depth++] = id ? id : new_location(r, place);
	}
	r->stack.count = depth;
}

static void write_sample(struct replay *r, size_t sample)
{
	struct pprof_sample key = r->d->keys.v[r->row->keys[sample]];
	struct pprof_run set = r->d->label_sets.v[key.labels];
	uint8_t *p;
	uint8_t *start;

	number_stack(r, key.stack);
	if (!fits(r, r->stack.count + set.count))
		return;
	p = room(r, 3 * FIELD_MAX +
			    (r->stack.count + r->row->types) * FIELD_MAX +
			    (size_t)set.count * 4 * FIELD_MAX);
	if (!p)
		return;
	start = p = message_begin(p, PROFILE_SAMPLE);
	if (r->dialect == DIALECT_GO)
		p = put_values(r, p, sample);
	p = put_stack(r, p);
	if (r->dialect != DIALECT_GO)
		p = put_values(r, p, sample);
	for (uint32_t i = 0; i < set.count; i++)
		p = put_label(r, p, &r->d->labels.v[set.first + i]);
	wrote(r, message_end(start, p));
}

static void write_samples(struct replay *r)
{
	for (size_t i = 0; i < r->row->samples && !is_full(r); i++)
		write_sample(r, i);
}

/* Header fields. */

static void write_number(struct replay *r, unsigned field, uint64_t v,
			 bool always)
{
	uint8_t *p = room(r, FIELD_MAX);

	if (p && (v || always))
		wrote(r, put_number(p, field, v));
}

static void write_comments(struct replay *r, const struct shape_op *op)
{
	bool packed = is_packed(r, op->count);
	uint8_t *p = room(r, (op->count + 1) * FIELD_MAX);
	uint8_t *start = p;

	if (!p)
		return;
	if (packed)
		start = p = message_begin(p, PROFILE_COMMENT);
	for (size_t i = 0; i < op->count; i++) {
		uint32_t id = string(r, op->operands[i]);

		p = packed ? put_varint(p, id) :
			     put_number(p, PROFILE_COMMENT, id);
	}
	wrote(r, packed ? message_end(start, p) : p);
}

/* The table of strings has those of the fields behind it, too. */
static void write_strings(struct replay *r)
{
	struct shape_walk rest = r->walk;
	const struct numbering *n = &r->strings;
	struct shape_op op;

	while (shape_next(&rest, &op)) {
		for (size_t i = 0; i < op.count; i++)
			string(r, op.operands[i]);
	}
	for (size_t i = 0; i < n->ordered.count && !is_full(r); i++) {
		struct str s = dict_str(r->d, n->ordered.v[i]);
		uint8_t *p = room(r, s.len + FIELD_MAX);

		if (!p)
			return;
		*p++ = PROFILE_STRING << 3 | WIRE_BYTES;
		p = put_varint(p, s.len);
		memcpy(p, s.ptr, s.len);
		wrote(r, p + s.len);
	}
}

static void write_op(struct replay *r, const struct shape_op *op)
{
	bool pprof = r->dialect == DIALECT_PPROF;

	switch (op->field) {
	case PROFILE_SAMPLE_TYPE:
	case PROFILE_PERIOD_TYPE:
		write_value_type(r, op->field, op->operands);
		break;
	case PROFILE_SAMPLE:
		write_samples(r);
		break;
	case PROFILE_MAPPING:
		write_mappings(r);
		break;
	case PROFILE_LOCATION:
		write_locations(r);
		break;
	case PROFILE_FUNCTION:
		write_functions(r);
		break;
	case PROFILE_STRING:
		write_strings(r);
		break;
	case PROFILE_TIME:
		write_number(r, op->field, (uint64_t)r->row->time_ns, false);
		break;
	case PROFILE_DURATION:
		write_number(r, op->field, (uint64_t)r->row->duration_ns,
			     false);
		break;
	case PROFILE_PERIOD:
		write_number(r, op->field, (uint64_t)r->row->period, false);
		break;
	case PROFILE_COMMENT:
		write_comments(r, op);
		break;
	default:
		write_number(r, op->field, string(r, op->operands[0]),
			     pprof && op->field == PROFILE_DEFAULT_TYPE);
		break;
	}
}

/* Which id each mapping has in this profile, and where it starts. */
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
	number_of(&r->strings, 0);
	place_mappings(r);
	r->walk = shape_walk(d, row->shape, &r->dialect);
	while (shape_next(&r->walk, &op) && !is_full(r))
		write_op(r, &op);
	if (is_full(r))
		return err_set(err, ERR_TOOBIG,
			       "a profile of more than %zu bytes", max);
	return 0;
}
