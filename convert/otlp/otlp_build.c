/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/otlp/otlp_build.h"

#include <stdio.h>

void otlp_build_init(struct otlp_build *b, const struct otlp_tables *t,
		     struct convert_meter *meter)
{
	*b = (struct otlp_build){ .t = t, .meter = meter };
	for (int i = 0; i < OTLP_TABLES; i++) {
		size_t n = otlp_tables_size(t, (enum otlp_table)i);
		struct otlp_remap *m = &b->remaps[i];

		vec_reserve(&m->places, n + 1);
		vec_reserve(&m->turns, n + 1);
		memset(m->turns.v, 0, (n + 1) * sizeof(*m->turns.v));
	}
}

size_t otlp_build_index_memory(const struct otlp_tables *t)
{
	size_t entries = 0;

	for (int i = 0; i < OTLP_TABLES; i++)
		entries += otlp_tables_size(t, (enum otlp_table)i) + 1;
	return entries * 2 * sizeof(uint32_t);
}

size_t otlp_build_memory(const struct otlp_build *b)
{
	return pprof_memory(&b->p) + b->arena.used +
	       vec_memory(&b->attributes) + vec_memory(&b->fixed);
}

void otlp_build_clear(struct otlp_build *b)
{
	pprof_fini(&b->p);
	arena_fini(&b->arena);
	vec_fini(&b->attributes);
	vec_fini(&b->fixed);
}

void otlp_build_fini(struct otlp_build *b)
{
	for (int i = 0; i < OTLP_TABLES; i++) {
		vec_fini(&b->remaps[i].places);
		vec_fini(&b->remaps[i].turns);
	}
	otlp_build_clear(b);
}

/* Return the number of a text in the profile. */
static uint32_t otlp_build_text(struct otlp_build *b, struct str text)
{
	convert_meter_note(b->meter, text.len);
	return strtab_intern(&b->p.strings, text);
}

/* Return a type as the numbers of its texts. */
static struct pprof_type otlp_build_type(struct otlp_build *b,
					 const struct value_type *t)
{
	return (struct pprof_type){ .type = otlp_build_text(b, t->type),
				    .unit = otlp_build_text(b, t->unit) };
}

void otlp_build_begin(struct otlp_build *b, const struct otlp_profile *p,
		      const struct otlp_columns *columns)
{
	pprof_reset(&b->p);
	/* The profile was filled by interning, which must begin anew. */
	strtab_fini(&b->p.strings);
	arena_fini(&b->arena);
	b->turn++;
	b->attributes.count = 0;
	b->fixed.count = 0;
	(void)otlp_build_text(b, str_of(""));
	for (size_t i = 0; i < columns->count; i++)
		*vec_add(&b->p.types) = otlp_build_type(b, &columns->v[i].type);
	b->p.period = p->period;
	b->p.period_type = otlp_build_type(b, &columns->period_type);
	b->p.time_ns = (int64_t)p->time_ns;
	b->p.duration_ns = (int64_t)p->duration_ns;
}

/*
 * Find the place of an entry in the profile. Returns true if it is there; otherwise
 * the caller adds it at *place, which is then remembered.
 */
static bool otlp_build_find(struct otlp_build *b, enum otlp_table table,
			    uint64_t index, size_t next, uint32_t *place)
{
	struct otlp_remap *m = &b->remaps[table];

	if (m->turns.v[index] == b->turn) {
		*place = m->places.v[index];
		return true;
	}
	m->turns.v[index] = b->turn;
	m->places.v[index] = *place = (uint32_t)next;
	return false;
}

/* Return a reader of an entry, whose fields may be many. */
static struct wire otlp_build_read(struct otlp_build *b, enum otlp_table table,
				   uint64_t index)
{
	struct bytes entry = otlp_tables_get(b->t, table, index);

	convert_meter_note(b->meter, entry.len);
	return wire_init(entry);
}

/* ERR_INVALID: an entry refers to one that is not there. */
static int otlp_build_no_entry(const char *what, struct err *err)
{
	return err_set(err, ERR_INVALID,
		       "a sample refers to a %s that is not in the dictionary",
		       what);
}

/* ERR_INVALID: an entry is malformed. */
static int otlp_build_malformed(const struct wire *w, const char *what,
				struct err *err)
{
	return w->bad ? err_set(err, ERR_INVALID, "a %s is malformed", what) :
			0;
}

int otlp_build_attribute(struct otlp_build *b, uint32_t index,
			 struct otlp_attribute *out, struct err *err)
{
	struct bytes entry = otlp_tables_get(b->t, OTLP_ATTRIBUTE, index);
	int rc = otlp_value_read_entry(b->t, entry, &b->arena, out, err);

	convert_meter_note(b->meter, entry.len + (rc ? 0 : out->text.len));
	return rc ? rc : convert_meter_ask(b->meter, err);
}

/* Make the label of an attribute. */
static struct pprof_label otlp_build_make_label(struct otlp_build *b,
						const struct otlp_attribute *a)
{
	struct pprof_label l;

	memset(&l, 0, sizeof(l));
	l.key = otlp_build_text(b, a->key);
	/* pprof has no empty texts: such a label would be a number. */
	l.is_number = a->is_number || !a->text.len;
	l.num = a->number;
	if (!a->is_number)
		l.str = otlp_build_text(b, a->text);
	/* To pprof, 0 without a unit is no label; the key is its default unit. */
	else
		l.unit = otlp_build_text(b, a->number || a->unit.len ? a->unit :
								       a->key);
	return l;
}

void otlp_build_label(struct otlp_build *b, const struct otlp_attribute *a)
{
	if (a->key.len && (a->is_number || a->text.len))
		*vec_add(&b->fixed) = otlp_build_make_label(b, a);
}

/* Add the label of an attribute of a sample to the labels of the profile. */
static int otlp_build_add_attribute(struct otlp_build *b, uint32_t index,
				    struct err *err)
{
	struct otlp_attribute a;
	uint32_t place;
	int rc = 0;

	if (!otlp_build_find(b, OTLP_ATTRIBUTE, index, b->attributes.count,
			     &place)) {
		rc = otlp_build_attribute(b, index, &a, err);
		if (!rc)
			*vec_add(&b->attributes) = otlp_build_make_label(b, &a);
	}
	/* Without a key, or without a text and a number, there is no label. */
	if (!rc && b->attributes.v[place].key &&
	    (b->attributes.v[place].str || b->attributes.v[place].num ||
	     b->attributes.v[place].unit))
		*vec_add(&b->p.labels) = b->attributes.v[place];
	return rc;
}

/* Add a label of an id in hexadecimal; an id of another length, or of zeros, is none. */
static void otlp_build_add_id(struct otlp_build *b, const char *key,
			      struct bytes id, size_t len)
{
	struct buf text = { 0 };
	struct otlp_attribute a = { .key = str_of(key) };
	uint8_t any = 0;

	for (size_t i = 0; i < id.len && id.len == len; i++) {
		buf_printf(&text, "%02x", id.ptr[i]);
		any |= id.ptr[i];
	}
	a.text = str_from(buf_bytes(&text));
	if (any)
		*vec_add(&b->p.labels) = otlp_build_make_label(b, &a);
	buf_fini(&text);
}

/* Add the labels of a link: the ids of a trace and of a span. */
static int otlp_build_add_link(struct otlp_build *b, uint32_t index,
			       struct err *err)
{
	struct wire w = otlp_build_read(b, OTLP_LINK, index);
	struct wire_field f = { 0 };
	struct bytes trace = { .len = 0 };
	struct bytes span = { .len = 0 };

	while (wire_next(&w, &f)) {
		if (f.number == 1 && f.type == WIRE_BYTES)
			trace = f.bytes;
		else if (f.number == 2 && f.type == WIRE_BYTES)
			span = f.bytes;
	}
	otlp_build_add_id(b, "trace_id", trace, 16);
	otlp_build_add_id(b, "span_id", span, 8);
	return otlp_build_malformed(&w, "link", err);
}

/* Whether one of the last labels has a key. */
static bool otlp_build_has_key(struct otlp_build *b, uint32_t first,
			       uint32_t key)
{
	convert_meter_note(b->meter, 0);
	for (size_t i = first; i < b->p.labels.count; i++) {
		if (b->p.labels.v[i].key == key)
			return true;
	}
	return false;
}

/*
 * Add the label set of a sample: labels of its own come before those of its profile,
 * and these before those of the resource. Return its number in *out. */
static int otlp_build_labels(struct otlp_build *b, const struct otlp_profile *p,
			     const struct otlp_sample *s, uint32_t *out,
			     struct err *err)
{
	struct pprof_run set = { .first = (uint32_t)b->p.labels.count };
	int rc = 0;

	for (uint32_t i = 0; i < s->attributes.count && !rc; i++)
		rc = otlp_build_add_attribute(
			b, p->attributes.v[s->attributes.first + i], err);
	if (!rc && s->link)
		rc = otlp_build_add_link(b, s->link, err);
	for (size_t i = 0; i < b->fixed.count; i++) {
		if (!otlp_build_has_key(b, set.first, b->fixed.v[i].key))
			*vec_add(&b->p.labels) = b->fixed.v[i];
	}
	set.count = (uint32_t)b->p.labels.count - set.first;
	*out = (uint32_t)b->p.label_sets.count;
	*vec_add(&b->p.label_sets) = set;
	return rc;
}

/* Return the number of a function, which is added if it is new. */
static int otlp_build_function(struct otlp_build *b, uint64_t index,
			       uint32_t *out, struct err *err)
{
	struct pprof_function new = { 0 };
	struct wire w;
	struct wire_field f = { 0 };

	if (index >= otlp_tables_size(b->t, OTLP_FUNCTION))
		return otlp_build_no_entry("function", err);
	if (otlp_build_find(b, OTLP_FUNCTION, index, b->p.functions.count, out))
		return 0;
	w = otlp_build_read(b, OTLP_FUNCTION, index);
	while (wire_next(&w, &f)) {
		struct str text = otlp_tables_text(b->t, f.value);

		if (f.type != WIRE_VARINT)
			continue;
		if (f.number == 1)
			new.name = otlp_build_text(b, text);
		else if (f.number == 2)
			new.system_name = otlp_build_text(b, text);
		else if (f.number == 3)
			new.file = otlp_build_text(b, text);
		else if (f.number == 4)
			new.start_line = (int64_t)f.value;
	}
	*vec_add(&b->p.functions) = new;
	return otlp_build_malformed(&w, "function", err);
}

/* Add a line of a location, unless it is of no function. */
static int otlp_build_line(struct otlp_build *b, struct bytes line,
			   struct err *err)
{
	struct pprof_line new = { 0 };
	struct wire w = wire_init(line);
	struct wire_field f = { 0 };
	bool has_function = false;
	int rc = 0;

	while (!rc && wire_next(&w, &f)) {
		if (f.type != WIRE_VARINT)
			continue;
		if (f.number == 1 && f.value) {
			has_function = true;
			rc = otlp_build_function(b, f.value, &new.function,
						 err);
		}
		if (f.number == 2)
			new.line = (int64_t)f.value;
		else if (f.number == 3)
			new.column = (int64_t)f.value;
	}
	if (has_function)
		*vec_add(&b->p.lines) = new;
	convert_meter_note(b->meter, line.len);
	if (!rc)
		rc = otlp_build_malformed(&w, "line", err);
	return rc ? rc : convert_meter_ask(b->meter, err);
}

/* How good a build ID of a kind is; 0: it is none. */
static int otlp_build_id_rank(struct str key)
{
	static const char *const kinds[] = {
		"process.executable.build_id.go",
		"process.executable.build_id.htlhash",
		"process.executable.build_id.gnu",
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (str_is(key, kinds[i]))
			return (int)i + 1;
	}
	return 0;
}

/* A mapping that is being built. */
struct mapping_reading {
	struct pprof_mapping m;
	int rank;       /* of its build ID */
	int attributes; /* that were read */
};

/* Take what an attribute says of a mapping. */
static int otlp_build_mapping_attribute(struct otlp_build *b, uint64_t index,
					struct mapping_reading *r,
					struct err *err)
{
	struct otlp_attribute a;
	int rank;
	int rc;

	if (index >= otlp_tables_size(b->t, OTLP_ATTRIBUTE))
		return otlp_build_no_entry("attribute", err);
	if (r->attributes++ == OTLP_ATTRIBUTES_MAX)
		return err_set(err, ERR_INVALID,
			       "a mapping has more than %d attributes",
			       OTLP_ATTRIBUTES_MAX);
	/* Values of other attributes may be long. */
	rank = otlp_build_id_rank(otlp_value_key(
		b->t, otlp_tables_get(b->t, OTLP_ATTRIBUTE, index)));
	if (rank <= r->rank)
		return 0;
	rc = otlp_build_attribute(b, (uint32_t)index, &a, err);
	if (!rc && !a.is_number) {
		r->rank = rank;
		r->m.build_id = otlp_build_text(b, a.text);
	}
	return rc;
}

/* Take the attributes of a mapping, packed or one alone. */
static int otlp_build_mapping_attributes(struct otlp_build *b,
					 const struct wire_field *f,
					 struct mapping_reading *r,
					 struct err *err)
{
	struct wire w = otlp_inside(f);
	int rc = 0;

	if (f->type == WIRE_VARINT)
		return otlp_build_mapping_attribute(b, f->value, r, err);
	while (!rc && f->type == WIRE_BYTES && w.pos < w.end && !w.bad) {
		uint64_t index = wire_varint(&w);

		if (!w.bad)
			rc = otlp_build_mapping_attribute(b, index, r, err);
	}
	return rc ? rc : otlp_build_malformed(&w, "mapping", err);
}

/* Return the number of a mapping, which is added if it is new; 0 is none. */
static int otlp_build_mapping(struct otlp_build *b, uint64_t index,
			      uint32_t *out, struct err *err)
{
	struct mapping_reading r = { .rank = 0 };
	struct wire w;
	struct wire_field f = { 0 };
	int rc = 0;

	*out = PPROF_NONE;
	if (!index)
		return 0;
	if (index >= otlp_tables_size(b->t, OTLP_MAPPING))
		return otlp_build_no_entry("mapping", err);
	if (otlp_build_find(b, OTLP_MAPPING, index, b->p.mappings.count, out))
		return 0;
	w = otlp_build_read(b, OTLP_MAPPING, index);
	while (!rc && wire_next(&w, &f)) {
		if (f.number == 5)
			rc = otlp_build_mapping_attributes(b, &f, &r, err);
		if (f.type != WIRE_VARINT)
			continue;
		if (f.number == 1)
			r.m.start = f.value;
		else if (f.number == 2)
			r.m.limit = f.value;
		else if (f.number == 3)
			r.m.offset = f.value;
		else if (f.number == 4)
			r.m.file = otlp_build_text(
				b, otlp_tables_text(b->t, f.value));
	}
	*vec_add(&b->p.mappings) = r.m;
	return rc ? rc : otlp_build_malformed(&w, "mapping", err);
}

/* Note in the mapping of a location what its functions have: names, files, lines. */
static void otlp_build_note_lines(struct otlp_build *b,
				  const struct pprof_location *l)
{
	struct pprof_mapping *m;

	if (l->mapping == PPROF_NONE || !l->lines.count)
		return;
	m = &b->p.mappings.v[l->mapping];
	m->has_functions = true;
	m->has_inlines |= l->lines.count > 1;
	for (uint32_t i = 0; i < l->lines.count; i++) {
		const struct pprof_line *line =
			&b->p.lines.v[l->lines.first + i];

		m->has_lines |= line->line != 0;
		m->has_filenames |= b->p.functions.v[line->function].file != 0;
	}
}

/* Return the number of a location, which is added if it is new. */
static int otlp_build_location(struct otlp_build *b, uint64_t index,
			       uint32_t *out, struct err *err)
{
	struct pprof_location new = { .mapping = PPROF_NONE };
	struct wire w;
	struct wire_field f = { 0 };
	int rc = 0;

	if (index >= otlp_tables_size(b->t, OTLP_LOCATION))
		return otlp_build_no_entry("location", err);
	if (otlp_build_find(b, OTLP_LOCATION, index, b->p.locations.count, out))
		return 0;
	new.lines.first = (uint32_t)b->p.lines.count;
	w = otlp_build_read(b, OTLP_LOCATION, index);
	while (!rc && wire_next(&w, &f)) {
		if (f.number == 1 && f.type == WIRE_VARINT)
			rc = otlp_build_mapping(b, f.value, &new.mapping, err);
		else if (f.number == 2 && f.type == WIRE_VARINT)
			new.address = f.value;
		else if (f.number == 3 && f.type == WIRE_BYTES)
			rc = otlp_build_line(b, f.bytes, err);
	}
	new.lines.count = (uint32_t)b->p.lines.count - new.lines.first;
	if (!rc)
		otlp_build_note_lines(b, &new);
	*vec_add(&b->p.locations) = new;
	return rc ? rc : otlp_build_malformed(&w, "location", err);
}

/* Add a frame to the stack that is being built. */
static int otlp_build_frame(struct otlp_build *b, uint64_t location,
			    const struct pprof_run *stack, struct err *err)
{
	uint32_t place = 0;
	int rc;

	if (b->p.frames.count - stack->first == OTLP_FRAMES_MAX)
		return err_set(err, ERR_INVALID,
			       "a stack has more than %d frames",
			       OTLP_FRAMES_MAX);
	rc = otlp_build_location(b, location, &place, err);
	*vec_add(&b->p.frames) = place;
	convert_meter_note(b->meter, sizeof(place));
	return rc ? rc : convert_meter_ask(b->meter, err);
}

/* Return the number of a stack, which is added if it is new. */
static int otlp_build_stack(struct otlp_build *b, uint64_t index, uint32_t *out,
			    struct err *err)
{
	struct pprof_run new = { .first = (uint32_t)b->p.frames.count };
	struct wire w = otlp_build_read(b, OTLP_STACK, index);
	struct wire_field f = { 0 };
	int rc = 0;

	if (otlp_build_find(b, OTLP_STACK, index, b->p.stacks.count, out))
		return 0;
	while (!rc && wire_next(&w, &f)) {
		struct wire packed = otlp_inside(&f);

		if (f.number != 1)
			continue;
		if (f.type == WIRE_VARINT)
			rc = otlp_build_frame(b, f.value, &new, err);
		while (!rc && f.type == WIRE_BYTES && packed.pos < packed.end) {
			uint64_t location = wire_varint(&packed);

			rc = packed.bad ?
				     otlp_build_malformed(&packed, "stack",
							  err) :
				     otlp_build_frame(b, location, &new, err);
		}
	}
	new.count = (uint32_t)b->p.frames.count - new.first;
	*vec_add(&b->p.stacks) = new;
	return rc ? rc : otlp_build_malformed(&w, "stack", err);
}

int otlp_build_add(struct otlp_build *b, const struct otlp_profile *p,
		   const struct otlp_columns *columns, size_t i,
		   struct err *err)
{
	const struct otlp_sample *s = &p->samples.v[i];
	struct pprof_sample new = { 0 };
	int rc = otlp_build_stack(b, s->stack, &new.stack, err);

	if (!rc)
		rc = otlp_build_labels(b, p, s, &new.labels, err);
	if (rc)
		return rc;
	*vec_add(&b->p.samples) = new;
	for (size_t k = 0; k < columns->count; k++)
		*vec_add(&b->p.values) =
			wrap_mul(columns->v[k].values[i], columns->v[k].factor);
	convert_meter_note(b->meter,
			   columns->count * sizeof(int64_t) +
				   b->p.label_sets.v[new.labels].count *
					   sizeof(struct pprof_label));
	return convert_meter_ask(b->meter, err);
}
