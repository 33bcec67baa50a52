/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/merge.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/hash.h"
#include "pprof/measure.h"
#include "pprof/placemap.h"

/* Sizes of mappings are compared in pages. */
#define PAGE ((uint64_t)0x1000)

/*
 * What stands in the result, to be found by its hash. Profiles of one program
 * name the same things in the same order: what follows the last thing found
 * is looked at first, and mostly is it.
 */
struct index {
	struct table table;
	uint32_t next;
};

struct merge {
	struct pprof out;
	size_t count;
	uint32_t next_string; /* as in an index */
	struct table mappings;
	struct index functions;
	struct index locations;
	struct index stacks;
	struct index label_sets;
	struct index samples;
	struct table comments;
	VEC(int64_t) pending; /* rows of what MERGE_AVERAGE gathers */

	/* The profile being added. */
	const struct pprof *src;
	struct place_map string_map;
	struct place_map mapping_map;
	struct place_map function_map;
	struct place_map location_map;
	VEC(uint64_t) scratch; /* a location's key */
	VEC(uint32_t) frames;  /* a stack being looked up */
	VEC(struct pprof_label) labels;
	VEC(struct pprof_label) extra; /* labels that every sample gets */
	double ratios[TYPES_MAX];
	bool scaled;
	bool keep_zero;
};

struct merge *merge_new(void)
{
	struct merge *m = mem_new(struct merge);

	pprof_reset(&m->out);
	strtab_intern(&m->out.strings, str_of(""));
	return m;
}

void merge_free(struct merge *m)
{
	if (!m)
		return;
	pprof_fini(&m->out);
	table_fini(&m->mappings);
	table_fini(&m->functions.table);
	table_fini(&m->locations.table);
	table_fini(&m->stacks.table);
	table_fini(&m->label_sets.table);
	table_fini(&m->samples.table);
	table_fini(&m->comments);
	vec_fini(&m->pending);
	vec_fini(&m->string_map.to);
	vec_fini(&m->mapping_map.to);
	vec_fini(&m->function_map.to);
	vec_fini(&m->location_map.to);
	vec_fini(&m->scratch);
	vec_fini(&m->frames);
	vec_fini(&m->labels);
	vec_fini(&m->extra);
	mem_free(m);
}

size_t merge_count(const struct merge *m)
{
	return m->count;
}

size_t merge_memory(const struct merge *m)
{
	return sizeof(*m) + pprof_memory(&m->out) + table_memory(&m->mappings) +
	       table_memory(&m->functions.table) +
	       table_memory(&m->locations.table) +
	       table_memory(&m->stacks.table) +
	       table_memory(&m->label_sets.table) +
	       table_memory(&m->samples.table) + table_memory(&m->comments) +
	       vec_memory(&m->pending) + vec_memory(&m->string_map.to) +
	       vec_memory(&m->function_map.to) +
	       vec_memory(&m->location_map.to) + vec_memory(&m->scratch) +
	       vec_memory(&m->frames) + vec_memory(&m->labels) +
	       vec_memory(&m->mapping_map.to) + vec_memory(&m->extra);
}

/* Tables: what is the same there and here. */

static uint32_t map_string(struct merge *m, uint32_t i)
{
	uint32_t *to = &m->string_map.to.v[i];

	if (*to == PPROF_NONE)
		*to = strtab_intern_next(&m->out.strings, pprof_str(m->src, i),
					 &m->next_string);
	return *to;
}

static uint64_t hash_of(const void *p, size_t size)
{
	return hash64((struct bytes){ .ptr = p, .len = size });
}

/* A key, and the bytes that it is found by. */
struct key {
	const void *key;
	const void *bytes;
	size_t size;
	uint64_t hash; /* once it was needed */
};

/* The place of a thing among the count that there are, or TABLE_NONE. */
static inline uint32_t find(const struct merge *m, struct index *x,
			    size_t count, table_same_fn same, struct key *k)
{
	uint32_t to = x->next;

	if (to >= count || !same(m, to, k->key)) {
		k->hash = hash_of(k->bytes, k->size);
		to = table_find(&x->table, k->hash, same, m, k->key);
	}
	if (to != TABLE_NONE)
		x->next = to + 1;
	return to;
}

/* It is not there: it will be the last one. */
static void add(struct index *x, const struct key *k, size_t place)
{
	table_add(&x->table, k->hash, (uint32_t)place);
	x->next = (uint32_t)place + 1;
}

/* What identifies a binary, whatever address it was loaded at. */
struct mapping_key {
	uint64_t size;
	uint64_t offset;
	uint64_t name; /* of the result's strings */
};

static struct mapping_key mapping_key(const struct pprof_mapping *m,
				      uint32_t file, uint32_t build_id)
{
	uint64_t size = m->limit - m->start + PAGE - 1;

	return (struct mapping_key){
		.size = size - size % PAGE,
		.offset = m->offset,
		.name = build_id ? build_id : file,
	};
}

static bool same_mapping(const void *ctx, uint32_t i, const void *key)
{
	const struct merge *m = ctx;
	const struct pprof_mapping *have = &m->out.mappings.v[i];
	struct mapping_key k = mapping_key(have, have->file, have->build_id);

	return !memcmp(&k, key, sizeof(k));
}

static uint32_t add_mapping(struct merge *m, uint32_t i)
{
	struct pprof_mapping new = m->src->mappings.v[i];
	struct mapping_key key;
	uint64_t hash;
	uint32_t to;

	new.file = map_string(m, new.file);
	new.build_id = map_string(m, new.build_id);
	key = mapping_key(&new, new.file, new.build_id);
	hash = hash_of(&key, sizeof(key));
	to = table_find(&m->mappings, hash, same_mapping, m, &key);
	if (to != TABLE_NONE)
		return to;
	to = (uint32_t)m->out.mappings.count;
	*vec_add(&m->out.mappings) = new;
	table_add(&m->mappings, hash, to);
	return to;
}

static uint32_t map_mapping(struct merge *m, uint32_t i)
{
	uint32_t *to = &m->mapping_map.to.v[i];

	if (*to == PPROF_NONE)
		*to = add_mapping(m, i);
	return *to;
}

static bool same_function(const void *ctx, uint32_t i, const void *key)
{
	const struct merge *m = ctx;
	const struct pprof_function *a = &m->out.functions.v[i];
	const struct pprof_function *b = key;

	return a->name == b->name && a->system_name == b->system_name &&
	       a->file == b->file && a->start_line == b->start_line;
}

static uint32_t add_function(struct merge *m, uint32_t i)
{
	const struct pprof_function *f = &m->src->functions.v[i];
	struct pprof_function new = {
		.name = map_string(m, f->name),
		.system_name = map_string(m, f->system_name),
		.file = map_string(m, f->file),
		.start_line = f->start_line,
	};
	uint64_t words[] = { (uint64_t) new.name << 32 | new.system_name,
			     new.file, (uint64_t) new.start_line };
	struct key key = { &new, words, sizeof(words), 0 };
	uint32_t to = find(m, &m->functions, m->out.functions.count,
			   same_function, &key);

	if (to != TABLE_NONE)
		return to;
	add(&m->functions, &key, m->out.functions.count);
	*vec_add(&m->out.functions) = new;
	return (uint32_t)m->out.functions.count - 1;
}

static uint32_t map_function(struct merge *m, uint32_t i)
{
	uint32_t *to = &m->function_map.to.v[i];

	if (*to == PPROF_NONE)
		*to = add_function(m, i);
	return *to;
}

static uint64_t mapping_start(const struct merge *m, uint32_t mapping)
{
	return mapping == PPROF_NONE ? 0 : m->out.mappings.v[mapping].start;
}

/* The address is compared relative to its mapping. */
static void location_key(const struct merge *m, const struct pprof_location *l,
			 uint64_t head[3])
{
	head[0] = l->address - mapping_start(m, l->mapping);
	head[1] = l->mapping;
	head[2] = (uint64_t)l->lines.count << 1 | l->folded;
}

/* The key of a location: its head, then three numbers a line. */
static bool same_location(const void *ctx, uint32_t i, const void *key)
{
	const struct merge *m = ctx;
	const struct pprof_location *l = &m->out.locations.v[i];
	const struct pprof_line *line = m->out.lines.v + l->lines.first;
	const uint64_t *k = key;
	uint64_t head[3];

	location_key(m, l, head);
	if (memcmp(head, k, sizeof(head)) != 0)
		return false;
	k += ARRAY_SIZE(head);
	for (uint32_t n = 0; n < l->lines.count; n++, line++, k += 3) {
		if (line->function != k[0] || (uint64_t)line->line != k[1] ||
		    (uint64_t)line->column != k[2])
			return false;
	}
	return true;
}

/* Write down the key of a location, whose functions are met for it. */
static void write_key(struct merge *m, const struct pprof_location *new,
		      struct pprof_run lines)
{
	uint64_t head[3];

	m->scratch.count = 0;
	location_key(m, new, head);
	for (size_t i = 0; i < ARRAY_SIZE(head); i++)
		*vec_add(&m->scratch) = head[i];
	for (uint32_t i = 0; i < lines.count; i++) {
		const struct pprof_line *l = &m->src->lines.v[lines.first + i];

		*vec_add(&m->scratch) = map_function(m, l->function);
		*vec_add(&m->scratch) = (uint64_t)l->line;
		*vec_add(&m->scratch) = (uint64_t)l->column;
	}
}

static void add_lines(struct merge *m, struct pprof_run lines)
{
	for (uint32_t i = 0; i < lines.count; i++) {
		struct pprof_line l = m->src->lines.v[lines.first + i];

		l.function = map_function(m, l.function);
		*vec_add(&m->out.lines) = l;
	}
}

static uint32_t add_location(struct merge *m, uint32_t i)
{
	struct pprof_location new = m->src->locations.v[i];
	struct pprof_run lines = new.lines;
	struct key key;
	uint32_t to;

	if (new.mapping != PPROF_NONE) {
		uint64_t start = m->src->mappings.v[new.mapping].start;

		new.mapping = map_mapping(m, new.mapping);
		new.address += mapping_start(m, new.mapping) - start;
	}
	write_key(m, &new, lines);
	key = (struct key){ m->scratch.v, m->scratch.v,
			    m->scratch.count * sizeof(uint64_t), 0 };
	to = find(m, &m->locations, m->out.locations.count, same_location,
		  &key);
	if (to != TABLE_NONE)
		return to;
	add(&m->locations, &key, m->out.locations.count);
	new.lines.first = (uint32_t)m->out.lines.count;
	add_lines(m, lines);
	*vec_add(&m->out.locations) = new;
	return (uint32_t)m->out.locations.count - 1;
}

static inline uint32_t map_location(struct merge *m, uint32_t i)
{
	uint32_t *to = &m->location_map.to.v[i];

	if (*to == PPROF_NONE)
		*to = add_location(m, i);
	return *to;
}

static bool same_stack(const void *ctx, uint32_t i, const void *key)
{
	const struct merge *m = ctx;
	const struct merge *k = key; /* its frames */
	struct pprof_run r = m->out.stacks.v[i];

	return r.count == k->frames.count &&
	       (!r.count || !memcmp(m->out.frames.v + r.first, k->frames.v,
				    r.count * sizeof(uint32_t)));
}

static uint32_t map_stack(struct merge *m, const struct pprof_run *stack)
{
	const uint32_t *from = m->src->frames.v + stack->first;
	struct pprof_run new = { .count = stack->count };
	struct key key;
	uint32_t to;

	m->frames.count = 0;
	vec_reserve(&m->frames, stack->count + 1);
	m->frames.count = stack->count;
	for (uint32_t i = 0; i < stack->count; i++)
		m->frames.v[i] = map_location(m, from[i]);
	key = (struct key){ m, m->frames.v, stack->count * sizeof(uint32_t),
			    0 };
	to = find(m, &m->stacks, m->out.stacks.count, same_stack, &key);
	if (to != TABLE_NONE)
		return to;
	add(&m->stacks, &key, m->out.stacks.count);
	new.first = (uint32_t)m->out.frames.count;
	vec_reserve(&m->out.frames, new.count + 1);
	memcpy(m->out.frames.v + new.first, m->frames.v,
	       new.count * sizeof(uint32_t));
	m->out.frames.count += new.count;
	*vec_add(&m->out.stacks) = new;
	return (uint32_t)m->out.stacks.count - 1;
}

/* Texts before numbers, each by key; what stands under one key stays so. */
static int compare_labels(const struct pprof *p, const struct pprof_label *a,
			  const struct pprof_label *b)
{
	if (a->is_number != b->is_number)
		return a->is_number ? 1 : -1;
	if (a->key == b->key)
		return 0;
	return str_cmp(pprof_str(p, a->key), pprof_str(p, b->key));
}

/* Stable, and of a handful: by insertion, but a giant's by merging. */
static void sort_labels(const struct pprof *p, struct pprof_label *v, size_t n)
{
	struct pprof_label *half;
	size_t mid = n / 2;
	size_t a = 0;

	if (n < 2)
		return;
	sort_labels(p, v, mid);
	sort_labels(p, v + mid, n - mid);
	if (compare_labels(p, &v[mid - 1], &v[mid]) <= 0)
		return;
	half = mem_dup(v, mid * sizeof(*v));
	for (size_t to = 0, b = mid; a < mid; to++) {
		if (b < n && compare_labels(p, &v[b], &half[a]) < 0)
			v[to] = v[b++];
		else
			v[to] = half[a++];
	}
	mem_free(half);
}

static bool same_label(const struct pprof_label *a, const struct pprof_label *b)
{
	return a->key == b->key && a->is_number == b->is_number &&
	       a->str == b->str && a->unit == b->unit && a->num == b->num;
}

static bool same_set(const void *ctx, uint32_t i, const void *key)
{
	const struct merge *m = ctx;
	const struct merge *k = key; /* its labels */
	struct pprof_run r = m->out.label_sets.v[i];

	if (r.count != k->labels.count)
		return false;
	for (uint32_t n = 0; n < r.count; n++) {
		if (!same_label(&m->out.labels.v[r.first + n], &k->labels.v[n]))
			return false;
	}
	return true;
}

void merge_label(struct merge *m, struct str key, struct str value)
{
	struct pprof_label *l = vec_add(&m->extra);

	memset(l, 0, sizeof(*l));
	l->key = strtab_intern(&m->out.strings, key);
	l->str = strtab_intern(&m->out.strings, value);
}

void merge_no_labels(struct merge *m)
{
	m->extra.count = 0;
}

static void add_extra(struct merge *m)
{
	size_t own = m->labels.count;

	for (size_t i = 0; i < m->extra.count; i++) {
		size_t k = 0;

		while (k < own && (m->labels.v[k].is_number ||
				   m->labels.v[k].key != m->extra.v[i].key))
			k++;
		if (k == own)
			*vec_add(&m->labels) = m->extra.v[i];
	}
}

static uint32_t map_labels(struct merge *m, struct pprof_run set)
{
	struct pprof_run new = { 0 };
	struct key key;
	uint32_t to;

	m->labels.count = 0;
	for (uint32_t i = 0; i < set.count; i++) {
		const struct pprof_label *l = &m->src->labels.v[set.first + i];
		struct pprof_label *to_label = vec_add(&m->labels);

		/* Its bytes are hashed: none of them undefined. */
		memset(to_label, 0, sizeof(*to_label));
		to_label->key = map_string(m, l->key);
		to_label->str = map_string(m, l->str);
		to_label->unit = map_string(m, l->unit);
		to_label->is_number = l->is_number;
		to_label->num = l->num;
	}
	add_extra(m);
	sort_labels(&m->out, m->labels.v, m->labels.count);
	new.count = (uint32_t)m->labels.count;
	key = (struct key){ m, m->labels.v,
			    m->labels.count * sizeof(struct pprof_label), 0 };
	to = find(m, &m->label_sets, m->out.label_sets.count, same_set, &key);
	if (to != TABLE_NONE)
		return to;
	add(&m->label_sets, &key, m->out.label_sets.count);
	new.first = (uint32_t)m->out.labels.count;
	for (uint32_t i = 0; i < new.count; i++)
		*vec_add(&m->out.labels) = m->labels.v[i];
	*vec_add(&m->out.label_sets) = new;
	return (uint32_t)m->out.label_sets.count - 1;
}

/* Samples: stack and labels. */

static bool same_sample(const void *ctx, uint32_t i, const void *key)
{
	const struct merge *m = ctx;

	return !memcmp(&m->out.samples.v[i], key, sizeof(struct pprof_sample));
}

/* The place of a sample in the result. */
static uint32_t map_sample(struct merge *m, size_t i)
{
	const struct pprof *src = m->src;
	struct pprof_sample s;
	struct key key = { &s, &s, sizeof(s), 0 };
	uint32_t to;

	s.stack = map_stack(m, pprof_stack(src, i));
	s.labels = map_labels(m, src->label_sets.v[src->samples.v[i].labels]);
	to = find(m, &m->samples, m->out.samples.count, same_sample, &key);
	if (to != TABLE_NONE)
		return to;
	add(&m->samples, &key, m->out.samples.count);
	*vec_add(&m->out.samples) = s;
	for (size_t t = 0; t < m->out.types.count; t++)
		*vec_add(&m->out.values) = 0;
	return (uint32_t)m->out.samples.count - 1;
}

/* Sums wrap, as Go's do. */
static int64_t scaled(const struct merge *m, size_t type, int64_t v)
{
	return m->ratios[type] == 1 ?
		       v :
		       measure_integer(round((double)v * m->ratios[type]));
}

static void make_pending(struct merge *m)
{
	while (m->pending.count < m->out.values.count)
		*vec_add(&m->pending) = 0;
}

static void add_values(struct merge *m, uint32_t sample, const int64_t *from,
		       const enum merge_op *ops)
{
	size_t width = m->out.types.count;
	int64_t *to = pprof_values(&m->out, sample);

	if (!ops && !m->scaled) {
		for (size_t t = 0; t < width; t++)
			to[t] = wrap_add(to[t], from[t]);
		return;
	}
	for (size_t t = 0; t < width; t++) {
		int64_t v = scaled(m, t, from[t]);
		int64_t *pending;

		switch (ops ? ops[t] : MERGE_ADD) {
		case MERGE_ADD:
			to[t] = wrap_add(to[t], v);
			break;
		case MERGE_SUBTRACT:
			to[t] = (int64_t)((uint64_t)to[t] - (uint64_t)v);
			break;
		case MERGE_AVERAGE:
			make_pending(m);
			pending = &m->pending.v[sample * width + t];
			*pending = wrap_add(*pending, v);
			break;
		case MERGE_SKIP:
			break;
		}
	}
}

static bool is_zero(const int64_t *v, size_t width, const enum merge_op *ops)
{
	for (size_t t = 0; t < width; t++) {
		if (v[t] && (!ops || ops[t] != MERGE_SKIP))
			return false;
	}
	return true;
}

static void add_samples(struct merge *m, const enum merge_op *ops)
{
	const struct pprof *src = m->src;
	size_t width = src->types.count;

	for (size_t i = 0; i < src->samples.count; i++) {
		const int64_t *v = pprof_values(src, i);

		if (m->keep_zero || !is_zero(v, width, ops))
			add_values(m, map_sample(m, i), v, ops);
	}
}

/* Headers: types and units. */

static void describe(const struct pprof *p, struct buf *out)
{
	for (size_t i = 0; i < p->types.count; i++)
		buf_printf(out, "%s%.*s/%.*s", i ? " " : "",
			   STR_ARG(pprof_str(p, p->types.v[i].type)),
			   STR_ARG(pprof_str(p, p->types.v[i].unit)));
}

static int disagree(const struct merge *m, const struct pprof *p,
		    struct err *err)
{
	struct buf a = buf_init(200);
	struct buf b = buf_init(200);

	describe(&m->out, &a);
	describe(p, &b);
	err_set(err, ERR_INVALID,
		"profiles of different sample types cannot be merged: %s, and %s (name a type: heap{…})",
		buf_cstr(&a), buf_cstr(&b));
	buf_fini(&a);
	buf_fini(&b);
	return ERR_INVALID;
}

/* Whether two types can be added up. */
static bool agrees(const struct merge *m, struct pprof_type a,
		   const struct pprof *p, struct pprof_type b)
{
	return str_eq(pprof_str(&m->out, a.type), pprof_str(p, b.type)) &&
	       measure_compatible(pprof_str(&m->out, a.unit),
				  pprof_str(p, b.unit));
}

static double ratio(struct str from, struct str to)
{
	struct str unit;

	return measure_scale(1, from, to, &unit);
}

/* A finer unit has come: what is there is counted in it from now on. */
static void refine(struct merge *m, size_t type, struct str unit)
{
	struct pprof_type *t = &m->out.types.v[type];
	double by = ratio(pprof_str(&m->out, t->unit), unit);
	size_t width = m->out.types.count;

	for (size_t i = type; i < m->out.values.count; i += width)
		m->out.values.v[i] =
			measure_integer(round((double)m->out.values.v[i] * by));
	for (size_t i = type; i < m->pending.count; i += width)
		m->pending.v[i] =
			measure_integer(round((double)m->pending.v[i] * by));
	t->unit = strtab_intern(&m->out.strings, unit);
}

static void common_units(struct merge *m, const struct pprof *p)
{
	m->scaled = false;
	for (size_t i = 0; i < p->types.count; i++) {
		struct str have = pprof_str(&m->out, m->out.types.v[i].unit);
		struct str unit = pprof_str(p, p->types.v[i].unit);

		m->ratios[i] = 1;
		if (str_eq(have, unit))
			continue;
		if (ratio(unit, have) < 1) {
			refine(m, i, unit);
			continue;
		}
		m->ratios[i] = ratio(unit, have);
		m->scaled = m->scaled || m->ratios[i] != 1;
	}
}

static int64_t common_period(struct merge *m, const struct pprof *p)
{
	struct str have = pprof_str(&m->out, m->out.period_type.unit);
	struct str unit = pprof_str(p, p->period_type.unit);
	struct str name;

	if (str_eq(have, unit))
		return p->period;
	if (ratio(unit, have) < 1) {
		m->out.period = measure_integer(
			measure_scale(m->out.period, have, unit, &name));
		m->out.period_type.unit = strtab_intern(&m->out.strings, unit);
		return p->period;
	}
	return measure_integer(measure_scale(p->period, unit, have, &name));
}

static void take_types(struct merge *m, const struct pprof *p)
{
	struct pprof *out = &m->out;

	for (size_t i = 0; i < p->types.count; i++) {
		*vec_add(&out->types) = (struct pprof_type){
			.type = map_string(m, p->types.v[i].type),
			.unit = map_string(m, p->types.v[i].unit),
		};
		m->ratios[i] = 1;
	}
	out->period_type.type = map_string(m, p->period_type.type);
	out->period_type.unit = map_string(m, p->period_type.unit);
	out->drop_frames = map_string(m, p->drop_frames);
	out->keep_frames = map_string(m, p->keep_frames);
	out->period = p->period;
}

static int check_types(struct merge *m, const struct pprof *p, struct err *err)
{
	const struct pprof *out = &m->out;

	if (out->types.count != p->types.count)
		return disagree(m, p, err);
	for (size_t i = 0; i < p->types.count; i++) {
		if (!agrees(m, out->types.v[i], p, p->types.v[i]))
			return disagree(m, p, err);
	}
	if (!agrees(m, out->period_type, p, p->period_type))
		return err_set(
			err, ERR_INVALID,
			"profiles of different period types cannot be merged: %.*s/%.*s, and %.*s/%.*s",
			STR_ARG(pprof_str(out, out->period_type.type)),
			STR_ARG(pprof_str(out, out->period_type.unit)),
			STR_ARG(pprof_str(p, p->period_type.type)),
			STR_ARG(pprof_str(p, p->period_type.unit)));
	return 0;
}

static bool same_comment(const void *ctx, uint32_t i, const void *key)
{
	const struct pprof *out = ctx;

	return out->comments.v[i] == *(const uint32_t *)key;
}

static void add_comments(struct merge *m, const struct pprof *p)
{
	struct pprof *out = &m->out;

	for (size_t i = 0; i < p->comments.count; i++) {
		uint32_t c = map_string(m, p->comments.v[i]);
		uint64_t hash = hash_of(&c, sizeof(c));

		if (table_find(&m->comments, hash, same_comment, out, &c) !=
		    TABLE_NONE)
			continue;
		table_add(&m->comments, hash, (uint32_t)out->comments.count);
		*vec_add(&out->comments) = c;
	}
}

static void add_header(struct merge *m, const struct pprof *p)
{
	struct pprof *out = &m->out;
	int64_t period = common_period(m, p);

	if (!out->time_ns || p->time_ns < out->time_ns)
		out->time_ns = p->time_ns;
	out->duration_ns = wrap_add(out->duration_ns, p->duration_ns);
	if (!out->period || out->period < period)
		out->period = period;
	add_comments(m, p);
	if (!out->default_type)
		out->default_type = map_string(m, p->default_type);
	if (!out->doc_url)
		out->doc_url = map_string(m, p->doc_url);
}

static void begin(struct merge *m, const struct pprof *p)
{
	m->src = p;
	placemap_reset(&m->string_map, p->strings.strings.count);
	placemap_reset(&m->mapping_map, p->mappings.count);
	placemap_reset(&m->function_map, p->functions.count);
	placemap_reset(&m->location_map, p->locations.count);
}

int merge_add(struct merge *m, const struct pprof *p, const enum merge_op *ops,
	      struct err *err)
{
	int rc = m->count ? check_types(m, p, err) : 0;

	if (rc)
		return rc;
	begin(m, p);
	if (!m->count)
		take_types(m, p);
	else
		common_units(m, p);
	add_header(m, p);
	/* The first mapping of a profile is its program. */
	if (!m->out.mappings.count && p->mappings.count)
		map_mapping(m, 0);
	add_samples(m, ops);
	m->src = NULL;
	m->count++;
	return 0;
}

/* Most of a sum is new: growing piece by piece would copy it many times. */
static void make_room(struct merge *m, const struct pprof *p)
{
	struct pprof *out = &m->out;

	vec_reserve(&out->frames, p->frames.count + 1);
	vec_reserve(&out->stacks, p->stacks.count + 1);
	vec_reserve(&out->samples, p->samples.count + 1);
	vec_reserve(&out->values, p->values.count + 1);
	vec_reserve(&out->locations, p->locations.count + 1);
	table_reserve(&m->stacks.table, p->stacks.count);
	table_reserve(&m->samples.table, p->samples.count);
	table_reserve(&m->locations.table, p->locations.count);
}

int merge_add_sum(struct merge *m, const struct pprof *p,
		  const enum merge_op *ops, struct err *err)
{
	int rc;

	make_room(m, p);
	m->keep_zero = true;
	rc = merge_add(m, p, ops, err);
	m->keep_zero = false;
	return rc;
}

static int64_t divide(int64_t v, size_t n)
{
	return (int64_t)llroundl((long double)v / (long double)n);
}

void merge_average(struct merge *m, size_t n)
{
	for (size_t i = 0; n && i < m->pending.count; i++) {
		int64_t *to = &m->out.values.v[i];

		if (!m->pending.v[i])
			continue;
		*to = wrap_add(*to, divide(m->pending.v[i], n));
		m->pending.v[i] = 0;
	}
}

static bool has_zero_sample(const struct pprof *p)
{
	for (size_t i = 0; i < p->samples.count; i++) {
		if (is_zero(pprof_values(p, i), p->types.count, NULL))
			return true;
	}
	return false;
}

/* Merging the result alone leaves out what nothing needs any more. */
static void compact(struct merge *m)
{
	struct merge *again = merge_new();
	struct merge old = *m;
	size_t count = m->count;

	/* A single profile has no types to disagree about. */
	if (merge_add(again, &m->out, NULL, NULL))
		abort();
	*m = *again;
	*again = old;
	m->count = count;
	merge_free(again);
}

struct pprof *merge_finish(struct merge *m)
{
	while (has_zero_sample(&m->out))
		compact(m);
	return &m->out;
}

/* The ratio of two profiles' sums, by type. */
static void normalize(struct pprof *p, const struct pprof *to)
{
	double ratios[TYPES_MAX];

	for (size_t t = 0; t < p->types.count; t++) {
		int64_t have = 0;
		int64_t want = 0;

		for (size_t i = 0; i < p->samples.count; i++)
			have = wrap_add(have, pprof_values(p, i)[t]);
		for (size_t i = 0; i < to->samples.count; i++)
			want = wrap_add(want, pprof_values(to, i)[t]);
		ratios[t] = have ? (double)want / (double)have : 0;
	}
	pprof_scale(p, ratios);
}

int merge_diff(struct merge *m, struct pprof *source, struct pprof *base,
	       const struct merge_diff_options *o, struct pprof **out,
	       struct err *err)
{
	double minus[TYPES_MAX];
	int rc;

	for (size_t t = 0; t < base->types.count; t++)
		minus[t] = -1;
	if (o->label_base)
		pprof_set_label(base, str_of(PPROF_BASE_KEY),
				str_of(PPROF_BASE_VALUE));
	if (o->normalize && source->types.count == base->types.count)
		normalize(source, base);
	pprof_scale(base, minus);
	rc = merge_add(m, source, NULL, err);
	if (!rc)
		rc = merge_add(m, base, NULL, err);
	if (!rc)
		*out = merge_finish(m);
	return rc;
}
