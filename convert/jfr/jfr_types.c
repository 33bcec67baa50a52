/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/jfr/jfr_types.h"

#include <math.h>

#include "base/hash.h"

enum {
	/* Depth of elements of metadata, of objects in objects, and of arrays. */
	DEPTH_MAX = 16,
	CLASSES_MAX = 20000,
	OPERATIONS_MAX = 1000000,
	/* How far a program is. */
	PROGRAM_MISSING = 0,
	PROGRAM_BROKEN,
	PROGRAM_DONE
};

/* Attributes of an element, by their names in slots; absent ones are empty. */
struct jfr_attributes {
	struct str name;
	struct str id;
	struct str class_id;
	struct str constant;
	struct str dimension;
};

/* The metadata while they are read. */
struct reading_types {
	struct jfr_types *t;
	struct jfr_reader r;
	struct convert_meter *m;
};

/* Return the slot of a field by its name. */
static enum jfr_slot jfr_types_slot(struct str name)
{
	static const char *const names[JFR_SLOTS] = {
		[JFR_STACK_TRACE] = "stackTrace",
		[JFR_STATE] = "state",
		[JFR_SAMPLES] = "samples",
		[JFR_TLAB_SIZE] = "tlabSize",
		[JFR_ALLOCATION_SIZE] = "allocationSize",
		[JFR_WEIGHT] = "weight",
		[JFR_SIZE] = "size",
		[JFR_DURATION] = "duration",
		[JFR_SAMPLING_PERIOD] = "samplingPeriod",
		[JFR_CONTEXT_ID] = "contextId",
		[JFR_SPAN_ID] = "spanId",
		[JFR_SPAN_NAME] = "spanName",
		[JFR_TRACE_ID_HIGH] = "traceIdHi",
		[JFR_TRACE_ID_LOW] = "traceIdLo",
		[JFR_ID] = "id",
		[JFR_NAME] = "name",
		[JFR_VALUE] = "value",
		[JFR_STRING] = "string",
		[JFR_METHOD] = "method",
		[JFR_LINE_NUMBER] = "lineNumber",
		[JFR_TYPE] = "type",
		[JFR_FRAMES] = "frames",
	};

	for (enum jfr_slot i = 0; i < JFR_SLOTS; i++) {
		if (str_is(name, names[i]))
			return i;
	}
	return JFR_SLOTS;
}

/* Return how values of a class are read. */
static enum jfr_kind jfr_types_kind(struct str name)
{
	static const struct {
		const char *name;
		enum jfr_kind kind;
	} kinds[] = {
		{ "boolean", JFR_BYTE },
		{ "byte", JFR_BYTE },
		{ "char", JFR_NUMBER },
		{ "short", JFR_NUMBER },
		{ "int", JFR_NUMBER },
		{ "long", JFR_NUMBER },
		{ "float", JFR_FLOAT },
		{ "double", JFR_DOUBLE },
		{ "java.lang.String", JFR_TEXT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (str_is(name, kinds[i].name))
			return kinds[i].kind;
	}
	return JFR_OBJECT;
}

/* Read the number of a text, and return the text. */
static struct str jfr_types_text(struct reading_types *x)
{
	uint64_t i = jfr_reader_number(&x->r);

	if (i < x->t->texts.count)
		return x->t->texts.v[i];
	x->r.bad = true;
	return str_of("");
}

/* Read the texts to which the elements refer. */
static int jfr_types_texts(struct reading_types *x, struct err *err)
{
	uint64_t count = jfr_reader_number(&x->r);
	int rc = 0;

	for (uint64_t i = 0; i < count && !x->r.bad && !rc; i++) {
		struct jfr_text t = jfr_reader_text(&x->r);

		*vec_add(&x->t->texts) =
			jfr_text_decode(&t, &x->t->arena, x->m);
		convert_meter_note(x->m, t.bytes.len);
		rc = convert_meter_ask(x->m, err);
	}
	return rc;
}

/* Read the attributes of an element. */
static struct jfr_attributes jfr_types_attributes(struct reading_types *x)
{
	struct jfr_attributes a = { .name = str_of("") };
	uint64_t count = jfr_reader_number(&x->r);

	for (uint64_t i = 0; i < count && !x->r.bad; i++) {
		struct str key = jfr_types_text(x);
		struct str value = jfr_types_text(x);

		convert_meter_note(x->m, 0);
		if (str_is(key, "name"))
			a.name = value;
		else if (str_is(key, "id"))
			a.id = value;
		else if (str_is(key, "class"))
			a.class_id = value;
		else if (str_is(key, "constantPool"))
			a.constant = value;
		else if (str_is(key, "dimension"))
			a.dimension = value;
	}
	return a;
}

/* Return the ID of a class, which is a decimal number. */
static uint64_t jfr_types_id(struct reading_types *x, struct str text)
{
	int64_t id = 0;

	convert_meter_note(x->m, text.len);
	if (!str_to_i64(text, &id))
		x->r.bad = true;
	return (uint64_t)id;
}

/* Add a class, whose fields are its children. */
static void jfr_types_add_class(struct reading_types *x,
				const struct jfr_attributes *a)
{
	*vec_add(&x->t->ids) = jfr_types_id(x, a->id);
	*vec_add(&x->t->classes) = (struct jfr_class){
		.name = a->name,
		.kind = jfr_types_kind(a->name),
		.fields = { (uint32_t)x->t->fields.count, 0 },
	};
}

/* Add a field to the last class. */
static void jfr_types_add_field(struct reading_types *x,
				const struct jfr_attributes *a)
{
	*vec_add(&x->t->fields) = (struct jfr_field){
		.name = a->name,
		.class_id = jfr_types_id(x, a->class_id),
		.slot = jfr_types_slot(a->name),
		.is_constant = str_is(a->constant, "true"),
		.is_array = a->dimension.len && !str_is(a->dimension, "0"),
	};
	x->t->classes.v[x->t->classes.count - 1].fields.count++;
}

/* Read an element with everything in it; `in_class`: it is in the last class. */
static int jfr_types_element(struct reading_types *x, int depth, bool in_class,
			     struct err *err)
{
	struct str name = jfr_types_text(x);
	struct jfr_attributes a = jfr_types_attributes(x);
	uint64_t children;
	int rc = convert_meter_ask(x->m, err);

	if (rc)
		return rc;
	if (depth == DEPTH_MAX || x->t->classes.count >= CLASSES_MAX)
		x->r.bad = true;
	else if (str_is(name, "class") && !in_class)
		jfr_types_add_class(x, &a);
	else if (str_is(name, "field") && in_class)
		jfr_types_add_field(x, &a);
	/* What is in a field are annotations. */
	in_class = str_is(name, "class") && !in_class;
	children = jfr_reader_number(&x->r);
	for (uint64_t i = 0; i < children && !x->r.bad && !rc; i++)
		rc = jfr_types_element(x, depth + 1, in_class, err);
	return rc;
}

static bool jfr_types_same(const void *ctx, uint32_t i, const void *key)
{
	const struct jfr_types *t = ctx;

	return t->ids.v[i] == *(const uint64_t *)key;
}

uint32_t jfr_types_find(const struct jfr_types *t, uint64_t id)
{
	return table_find(&t->by_id, hash_foreign_number((int64_t)id),
			  jfr_types_same, t, &id);
}

/* Index the classes by their IDs. */
static void jfr_types_index(struct jfr_types *t)
{
	for (size_t i = 0; i < t->classes.count; i++) {
		if (jfr_types_find(t, t->ids.v[i]) == TABLE_NONE)
			table_add(&t->by_id,
				  hash_foreign_number((int64_t)t->ids.v[i]),
				  (uint32_t)i);
	}
}

static bool jfr_types_compile(struct jfr_types *t, uint32_t class, int depth);

/* Compile the class of a field, if objects of it are in objects with the field. */
static bool jfr_types_compile_inner(struct jfr_types *t,
				    const struct jfr_field *f, int depth)
{
	uint32_t class = jfr_types_find(t, f->class_id);

	if (class == TABLE_NONE)
		return false;
	return f->is_constant || f->is_array ||
	       t->classes.v[class].kind != JFR_OBJECT ||
	       jfr_types_compile(t, class, depth + 1);
}

/*
 * Append the program of a field, whose class is compiled. False: there would be too many
 * operations.
 */
static bool jfr_types_emit(struct jfr_types *t, struct jfr_field *f)
{
	uint32_t class = jfr_types_find(t, f->class_id);
	const struct jfr_class *c = &t->classes.v[class];
	struct jfr_operation one = { .class = class,
				     .kind = f->is_constant ? JFR_NUMBER :
							      (uint8_t)c->kind,
				     .is_array = f->is_array };

	if (t->operations.count + c->program.count >= OPERATIONS_MAX)
		return false;
	f->program.first = (uint32_t)t->operations.count;
	if (one.is_array || one.kind != JFR_OBJECT)
		*vec_add(&t->operations) = one;
	else
		for (uint32_t i = 0; i < c->program.count; i++) {
			one = t->operations.v[c->program.first + i];
			*vec_add(&t->operations) = one;
		}
	f->program.count = (uint32_t)t->operations.count - f->program.first;
	return true;
}

/*
 * Compile a class. False: it has a field of an unknown class, or objects of itself
 * inside, or is too large.
 */
static bool jfr_types_compile(struct jfr_types *t, uint32_t class, int depth)
{
	struct jfr_class *c = &t->classes.v[class];
	uint32_t count = c->fields.count;
	/* Without fields, there may be no array. */
	struct jfr_field *fields = count ? &t->fields.v[c->fields.first] : NULL;
	uint32_t kept = 0;

	if (c->state != PROGRAM_MISSING)
		return c->state == PROGRAM_DONE;
	/* The class may be fine by itself, or in another one. */
	if (depth == DEPTH_MAX)
		return false;
	c->state = PROGRAM_BROKEN;
	for (uint32_t i = 0; i < count; i++) {
		if (!jfr_types_compile_inner(t, &fields[i], depth))
			return false;
	}
	c->program.first = (uint32_t)t->operations.count;
	for (uint32_t i = 0; i < count; i++) {
		if (!jfr_types_emit(t, &fields[i])) {
			t->operations.count = c->program.first;
			return false;
		}
		/* A field without bytes would only cost time with each event. */
		if (fields[i].program.count)
			fields[kept++] = fields[i];
	}
	c->fields.count = kept;
	c->program.count = (uint32_t)t->operations.count - c->program.first;
	c->state = PROGRAM_DONE;
	return true;
}

/* Empty everything, and keep the memory. */
static void jfr_types_reset(struct jfr_types *t)
{
	t->classes.count = 0;
	t->fields.count = 0;
	t->operations.count = 0;
	t->texts.count = 0;
	t->ids.count = 0;
	table_fini(&t->by_id);
	arena_fini(&t->arena);
}

int jfr_types_read(struct jfr_types *t, struct bytes metadata,
		   struct convert_meter *m, struct err *err)
{
	struct reading_types x = { t, jfr_reader_init(metadata), m };
	int rc;

	jfr_types_reset(t);
	rc = jfr_types_texts(&x, err);
	if (!rc)
		rc = jfr_types_element(&x, 0, false, err);
	if (!rc && x.r.bad)
		rc = err_set(err, ERR_INVALID,
			     "the metadata of the recording are malformed");
	jfr_types_index(t);
	for (size_t i = 0; !rc && i < t->classes.count; i++) {
		(void)jfr_types_compile(t, (uint32_t)i, 0);
		convert_meter_note(m, t->classes.v[i].program.count);
		rc = convert_meter_ask(m, err);
	}
	return rc;
}

static void jfr_types_run(const struct jfr_types *t, struct pprof_run program,
			  struct jfr_reader *r, int depth);

/* Read the elements of an array, which are objects. */
static void jfr_types_run_array(const struct jfr_types *t, uint32_t class,
				uint64_t count, struct jfr_reader *r, int depth)
{
	const struct jfr_class *c = &t->classes.v[class];

	if (c->state != PROGRAM_DONE || depth == DEPTH_MAX) {
		r->bad = true;
		return;
	}
	/* Objects without fields have no bytes. */
	for (uint64_t i = 0; c->program.count && i < count && !r->bad; i++)
		jfr_types_run(t, c->program, r, depth + 1);
}

/* Return the number that the bits of a float stand for. */
static double jfr_types_float(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return (double)value;
}

/* Return the number that the bits of a double stand for. */
static double jfr_types_double(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/*
 * Read a value that is no object, and return it if it is a number: a float or a double as
 * its bits.
 */
static uint64_t jfr_types_scalar(enum jfr_kind kind, struct jfr_reader *r)
{
	switch (kind) {
	case JFR_NUMBER:
		return jfr_reader_number(r);
	case JFR_BYTE:
		return jfr_reader_fixed(r, 1);
	case JFR_FLOAT:
		return jfr_reader_fixed(r, 4);
	case JFR_DOUBLE:
		return jfr_reader_fixed(r, 8);
	case JFR_TEXT:
		(void)jfr_reader_text(r);
		break;
	case JFR_OBJECT:
		break;
	}
	return 0;
}

/* Run a program: skip what it reads. */
static void jfr_types_run(const struct jfr_types *t, struct pprof_run program,
			  struct jfr_reader *r, int depth)
{
	for (uint32_t i = 0; i < program.count && !r->bad; i++) {
		const struct jfr_operation *o =
			&t->operations.v[program.first + i];
		uint64_t count = o->is_array ? jfr_reader_number(r) : 1;

		if (o->kind == JFR_OBJECT) {
			jfr_types_run_array(t, o->class, count, r, depth);
			continue;
		}
		for (uint64_t k = 0; k < count && !r->bad; k++)
			(void)jfr_types_scalar((enum jfr_kind)o->kind, r);
	}
}

void jfr_types_skip(const struct jfr_types *t, uint32_t class,
		    struct jfr_reader *r)
{
	const struct jfr_class *c = &t->classes.v[class];

	if (c->kind != JFR_OBJECT)
		(void)jfr_types_scalar(c->kind, r);
	else if (c->state == PROGRAM_DONE)
		jfr_types_run(t, c->program, r, 0);
	else
		r->bad = true;
}

/* Read a number into a slot. */
static void jfr_types_number(enum jfr_kind kind, struct jfr_reader *r,
			     enum jfr_slot slot, struct jfr_object *out)
{
	uint64_t bits = jfr_types_scalar(kind, r);
	double value = kind == JFR_FLOAT  ? jfr_types_float((uint32_t)bits) :
		       kind == JFR_DOUBLE ? jfr_types_double(bits) :
					    (double)(int64_t)bits;

	if (kind == JFR_FLOAT || kind == JFR_DOUBLE)
		bits = value >= 0 && value < 1e18 ? (uint64_t)llround(value) :
						    UINT64_MAX;
	out->numbers[slot] = bits;
	out->fractions[slot] = value;
}

/* Read a field into its slot. */
static void jfr_types_field(const struct jfr_types *t,
			    const struct jfr_field *f, struct jfr_reader *r,
			    struct jfr_object *out)
{
	const struct jfr_operation *o;
	struct jfr_reader before = *r;

	/* An object in the object, or a field of no interest. */
	if (f->program.count != 1 || f->slot == JFR_SLOTS) {
		jfr_types_run(t, f->program, r, 0);
		return;
	}
	o = &t->operations.v[f->program.first];
	if (o->is_array)
		jfr_types_run(t, f->program, r, 0);
	else if (o->kind == JFR_TEXT)
		out->texts[f->slot] = jfr_reader_text(r);
	else
		jfr_types_number((enum jfr_kind)o->kind, r, f->slot, out);
	if (o->is_array && o->kind == JFR_OBJECT && f->slot == JFR_FRAMES) {
		before.end = r->pos;
		out->frames = before;
		out->frame_class = o->class;
	}
}

void jfr_types_object(const struct jfr_types *t, uint32_t class,
		      struct jfr_reader *r, struct jfr_object *out)
{
	const struct jfr_class *c = &t->classes.v[class];

	*out = (struct jfr_object){ .frame_class = TABLE_NONE };
	if (c->state != PROGRAM_DONE)
		r->bad = true;
	for (uint32_t i = 0; i < c->fields.count && !r->bad; i++)
		jfr_types_field(t, &t->fields.v[c->fields.first + i], r, out);
}

size_t jfr_types_memory(const struct jfr_types *t)
{
	return vec_memory(&t->classes) + vec_memory(&t->fields) +
	       vec_memory(&t->operations) + vec_memory(&t->texts) +
	       vec_memory(&t->ids) + table_memory(&t->by_id) + t->arena.used;
}

void jfr_types_fini(struct jfr_types *t)
{
	vec_fini(&t->classes);
	vec_fini(&t->fields);
	vec_fini(&t->operations);
	vec_fini(&t->texts);
	vec_fini(&t->ids);
	table_fini(&t->by_id);
	arena_fini(&t->arena);
}
