/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds, for the strings, mappings, functions, locations and stacks of a
 * profile, the equal objects in the result of a merge. The result has each
 * distinct object once.
 */
#include "pprof/merge/merge_private.h"

/*
 * Page size in bytes: sizes of mappings are rounded up to pages before they are
 * compared, as in pprof.
 */
#define PAGE ((uint64_t)0x1000)

/*
 * Each string of the source is interned only once; string_map then holds the
 * index of the string in the result.
 */
uint32_t merge_map_string(struct merge *m, uint32_t i)
{
	uint32_t *to = &m->string_map.to.v[i];

	if (*to == PPROF_NONE)
		*to = strtab_intern_next(&m->out.strings, pprof_str(m->src, i),
					 &m->next_string);
	return *to;
}

/*
 * The lookup key of a mapping, which identifies a binary independently of the
 * address it was loaded at.
 */
struct mapping_key {
	uint64_t size;
	uint64_t offset;
	uint64_t name; /* string of the result: build id, else file */
};

/*
 * Return the key of a mapping; file and build_id are indexes of the result's
 * strings.
 */
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

/* Equality callback of the mapping index. */
static bool merge_same_mapping(const void *ctx, uint32_t i, const void *key)
{
	const struct merge *m = ctx;
	const struct pprof_mapping *have = &m->out.mappings.v[i];
	struct mapping_key k = mapping_key(have, have->file, have->build_id);

	return !memcmp(&k, key, sizeof(k));
}

/*
 * Return the index in the result for mapping i of the source, which is not in
 * mapping_map yet. If several mappings are equal, the addresses of the first
 * are used in the result.
 */
static uint32_t add_mapping(struct merge *m, uint32_t i)
{
	struct pprof_mapping new = m->src->mappings.v[i];
	struct mapping_key key;
	uint64_t hash;
	uint32_t to;

	new.file = merge_map_string(m, new.file);
	new.build_id = merge_map_string(m, new.build_id);
	key = mapping_key(&new, new.file, new.build_id);
	hash = merge_hash(&key, sizeof(key));
	to = table_find(&m->mappings, hash, merge_same_mapping, m, &key);
	if (to != TABLE_NONE)
		return to;
	to = (uint32_t)m->out.mappings.count;
	*vec_add(&m->out.mappings) = new;
	table_add(&m->mappings, hash, to);
	return to;
}

uint32_t merge_map_mapping(struct merge *m, uint32_t i)
{
	uint32_t *to = &m->mapping_map.to.v[i];

	if (*to == PPROF_NONE)
		*to = add_mapping(m, i);
	return *to;
}

/* Equality callback of the function index. */
static bool merge_same_function(const void *ctx, uint32_t i, const void *key)
{
	const struct merge *m = ctx;
	const struct pprof_function *a = &m->out.functions.v[i];
	const struct pprof_function *b = key;

	return a->name == b->name && a->system_name == b->system_name &&
	       a->file == b->file && a->start_line == b->start_line;
}

/*
 * Return the index in the result for function i of the source, which is not in
 * function_map yet.
 */
static uint32_t add_function(struct merge *m, uint32_t i)
{
	const struct pprof_function *f = &m->src->functions.v[i];
	struct pprof_function new = {
		.name = merge_map_string(m, f->name),
		.system_name = merge_map_string(m, f->system_name),
		.file = merge_map_string(m, f->file),
		.start_line = f->start_line,
	};
	uint64_t words[] = { (uint64_t) new.name << 32 | new.system_name,
			     new.file, (uint64_t) new.start_line };
	struct merge_key key = { &new, words, sizeof(words), 0 };
	uint32_t to = merge_index_find(m, &m->functions, m->out.functions.count,
				       merge_same_function, &key);

	if (to != TABLE_NONE)
		return to;
	merge_index_add(&m->functions, &key, m->out.functions.count);
	*vec_add(&m->out.functions) = new;
	return (uint32_t)m->out.functions.count - 1;
}

/*
 * Return the index in the result for function i of the source. Called only for
 * functions of used locations, so unused functions are never added.
 */
static uint32_t merge_map_function(struct merge *m, uint32_t i)
{
	uint32_t *to = &m->function_map.to.v[i];

	if (*to == PPROF_NONE)
		*to = add_function(m, i);
	return *to;
}

/* Return the start address of a mapping of the result, 0 for PPROF_NONE. */
static uint64_t mapping_start(const struct merge *m, uint32_t mapping)
{
	return mapping == PPROF_NONE ? 0 : m->out.mappings.v[mapping].start;
}

/*
 * Write the first three numbers of a location's key. The address is relative
 * to its mapping, because a binary may be loaded elsewhere in each process.
 */
static void location_key(const struct merge *m, const struct pprof_location *l,
			 uint64_t head[3])
{
	head[0] = l->address - mapping_start(m, l->mapping);
	head[1] = l->mapping;
	head[2] = (uint64_t)l->lines.count << 1 | l->folded;
}

/*
 * Equality callback of the location index. The key consists of the numbers of
 * location_key(), then function, line and column (docs/decisions.md, 36) of
 * each line.
 */
static bool merge_same_location(const void *ctx, uint32_t i, const void *key)
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

/*
 * Write the key of a location to m->scratch. The key contains the indexes that
 * the lines' functions have in the result, so this call adds these functions to
 * the result.
 */
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

		*vec_add(&m->scratch) = merge_map_function(m, l->function);
		*vec_add(&m->scratch) = (uint64_t)l->line;
		*vec_add(&m->scratch) = (uint64_t)l->column;
	}
}

/* Append the lines of a new location to the result. */
static void add_lines(struct merge *m, struct pprof_run lines)
{
	for (uint32_t i = 0; i < lines.count; i++) {
		struct pprof_line l = m->src->lines.v[lines.first + i];

		l.function = merge_map_function(m, l.function);
		*vec_add(&m->out.lines) = l;
	}
}

/*
 * Return the index in the result for location i of the source, which is not in
 * location_map yet. The address is moved by the distance between the mapping's
 * start in the source and its start in the result.
 */
static uint32_t merge_add_location(struct merge *m, uint32_t i)
{
	struct pprof_location new = m->src->locations.v[i];
	struct pprof_run lines = new.lines;
	struct merge_key key;
	uint32_t to;

	if (new.mapping != PPROF_NONE) {
		uint64_t start = m->src->mappings.v[new.mapping].start;

		new.mapping = merge_map_mapping(m, new.mapping);
		new.address += mapping_start(m, new.mapping) - start;
	}
	write_key(m, &new, lines);
	key = (struct merge_key){ m->scratch.v, m->scratch.v,
				  m->scratch.count * sizeof(uint64_t), 0 };
	to = merge_index_find(m, &m->locations, m->out.locations.count,
			      merge_same_location, &key);
	if (to != TABLE_NONE)
		return to;
	merge_index_add(&m->locations, &key, m->out.locations.count);
	new.lines.first = (uint32_t)m->out.lines.count;
	add_lines(m, lines);
	*vec_add(&m->out.locations) = new;
	return (uint32_t)m->out.locations.count - 1;
}

/* Return the index in the result for location i of the source. */
static inline uint32_t map_location(struct merge *m, uint32_t i)
{
	uint32_t *to = &m->location_map.to.v[i];

	if (*to == PPROF_NONE)
		*to = merge_add_location(m, i);
	return *to;
}

/*
 * Equality callback of the stack index: compares stack i of the result with
 * m->frames.
 */
static bool same_stack(const void *ctx, uint32_t i, const void *key)
{
	const struct merge *m = ctx;
	/* k->frames is the stack to compare with */
	const struct merge *k = key;
	struct pprof_run r = m->out.stacks.v[i];

	return r.count == k->frames.count &&
	       (!r.count || !memcmp(m->out.frames.v + r.first, k->frames.v,
				    r.count * sizeof(uint32_t)));
}

uint32_t merge_map_stack(struct merge *m, const struct pprof_run *stack)
{
	const uint32_t *from = m->src->frames.v + stack->first;
	struct pprof_run new = { .count = stack->count };
	struct merge_key key;
	uint32_t to;

	m->frames.count = 0;
	vec_reserve(&m->frames, stack->count + 1);
	m->frames.count = stack->count;
	for (uint32_t i = 0; i < stack->count; i++)
		m->frames.v[i] = map_location(m, from[i]);
	key = (struct merge_key){ m, m->frames.v,
				  stack->count * sizeof(uint32_t), 0 };
	to = merge_index_find(m, &m->stacks, m->out.stacks.count, same_stack,
			      &key);
	if (to != TABLE_NONE)
		return to;
	merge_index_add(&m->stacks, &key, m->out.stacks.count);
	new.first = (uint32_t)m->out.frames.count;
	vec_reserve(&m->out.frames, new.count + 1);
	memcpy(m->out.frames.v + new.first, m->frames.v,
	       new.count * sizeof(uint32_t));
	m->out.frames.count += new.count;
	*vec_add(&m->out.stacks) = new;
	return (uint32_t)m->out.stacks.count - 1;
}
