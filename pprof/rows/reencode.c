/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/rows/reencode.h"

#include "pprof/dictionary/layout.h"
#include "pprof/proto/fields.h"
#include "pprof/rows/reencode_fields.h"
#include "pprof/rows/reencode_private.h"

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

/* Reserves one byte for the length. */
uint8_t *reencode_message_begin(uint8_t *p, unsigned field)
{
	*p = (uint8_t)(field << 3 | WIRE_BYTES);
	return p + 2;
}

/* Moves the content if the length takes more than one byte. */
uint8_t *reencode_message_end(uint8_t *start, uint8_t *p)
{
	size_t len = (size_t)(p - start);
	size_t more = wire_varint_len(len) - 1;

	if (more)
		memmove(start + more, start, len);
	reencode_put_varint(start - 1, len);
	return p + more;
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
	r->walk = shape_walk(d, row->shape, &r->dialect);
	while (shape_next(&r->walk, &op) && !reencode_is_full(r))
		write_op(r, &op);
	if (reencode_is_full(r))
		return err_set(err, ERR_TOOBIG,
			       "the profile is larger than %zu bytes", max);
	return 0;
}
