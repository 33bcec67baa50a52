/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/dictionary/intern_mappings.h"

#include "pprof/dictionary/intern_private.h"

/* Whether mapping i equals `*key`, for the hash table of mappings. */
static bool intern_same_mapping(const void *ctx, uint32_t i, const void *key)
{
	const struct dictionary *d = ctx;
	const struct dict_mapping *a = &d->mappings.v[i];
	const struct dict_mapping *b = key;

	return a->size == b->size && a->offset == b->offset &&
	       a->file == b->file && a->build_id == b->build_id &&
	       a->twin == b->twin;
}

uint64_t intern_hash_mapping(const struct dict_mapping *m)
{
	uint64_t words[] = { m->size, m->offset,
			     (uint64_t)m->file << 32 | m->build_id, m->twin };

	return intern_hash(words, sizeof(words));
}

/* Find or add a mapping. */
static uint32_t intern_find_mapping(struct intern *in,
				    const struct dict_mapping *m)
{
	struct dictionary *d = in->d;
	uint64_t hash = intern_hash_mapping(m);
	uint32_t i = table_find(&in->mappings, hash, intern_same_mapping, d, m);

	if (i != TABLE_NONE)
		return i;
	i = (uint32_t)d->mappings.count;
	table_add(&in->mappings, hash, i);
	*vec_add(&d->mappings) = *m;
	return i;
}

/*
 * Whether an earlier mapping of the current profile was already translated to
 * this mapping of the dictionary.
 */
static bool is_bound(const struct intern *in, uint32_t mapping)
{
	return mapping < in->bound.count &&
	       in->bound.v[mapping] == in->profiles;
}

/*
 * Remember that the current profile uses a mapping of the dictionary, by
 * storing the number of the profile. The next profile has another number, so
 * nothing has to be cleared for it.
 */
static void set_bound(struct intern *in, uint32_t mapping)
{
	while (in->bound.count <= mapping)
		*vec_add(&in->bound) = 0;
	in->bound.v[mapping] = in->profiles;
}

/*
 * Find or add one mapping of the profile in the dictionary. Equal mappings of a
 * profile become different mappings of the dictionary, with different twin
 * numbers, because each location refers to one of the equal mappings.
 */
static void bind_mapping(struct intern *in, size_t i)
{
	const struct pprof_mapping *m = &in->src->mappings.v[i];
	struct dict_mapping to = { .size = m->limit - m->start,
				   .offset = m->offset,
				   .file = intern_text(in, m->file),
				   .build_id = intern_text(in, m->build_id) };
	uint32_t place = intern_find_mapping(in, &to);

	while (is_bound(in, place)) {
		to.twin++;
		place = intern_find_mapping(in, &to);
	}
	set_bound(in, place);
	in->mapping_map.to.v[i] = place;
	*vec_add(&in->bindings) = (struct dict_binding){
		.start = m->start,
		.mapping = place,
		.flags = (m->has_functions ? DICT_HAS_FUNCTIONS : 0) |
			 (m->has_filenames ? DICT_HAS_FILENAMES : 0) |
			 (m->has_lines ? DICT_HAS_LINES : 0) |
			 (m->has_inlines ? DICT_HAS_INLINES : 0),
	};
}

/* Compares the elements as bytes, so they must have no padding. */
bool intern_same_run(const void *ctx UNUSED, uint32_t i, const void *key)
{
	const struct run_key *k = key;
	struct pprof_run r = k->runs.runs[i];
	const uint8_t *have = k->runs.elements;

	return r.count == k->count &&
	       (!r.count || !memcmp(have + r.first * k->runs.size, k->want,
				    r.count * k->runs.size));
}

uint64_t intern_hash_run(const struct runs *r, uint32_t i)
{
	const uint8_t *elements = r->elements;
	struct pprof_run run = r->runs[i];

	return intern_hash(elements + run.first * r->size, run.count * r->size);
}

void intern_mappings(struct intern *in)
{
	for (size_t i = 0; i < in->src->mappings.count; i++)
		bind_mapping(in, i);
}

/*
 * The bindings come from another dictionary, which is presented to the interner
 * as a profile (remap.h). The mappings of this profile must be in
 * in->mapping_map already.
 */
uint32_t intern_bindings(struct intern *in, const struct dict_binding *v,
			 uint32_t count)
{
	struct dictionary *d = in->d;

	in->bindings.count = 0;
	vec_reserve(&in->bindings, count + 1);
	for (uint32_t i = 0; i < count; i++) {
		struct dict_binding b = v[i];

		b.mapping = in->mapping_map.to.v[b.mapping];
		in->bindings.v[i] = b;
	}
	return find_run(&in->layouts, &d->bindings, &d->layouts, in->bindings.v,
			count);
}

/* A layout is the list of the profile's mappings with their load addresses. */
uint32_t intern_layout(struct intern *in)
{
	struct dictionary *d = in->d;

	intern_mappings(in);
	vec_reserve(&in->bindings, 1);
	return find_run(&in->layouts, &d->bindings, &d->layouts, in->bindings.v,
			(uint32_t)in->bindings.count);
}

uint32_t intern_shape(struct intern *in, const uint32_t *words, uint32_t count)
{
	struct dictionary *d = in->d;

	return find_run(&in->shapes, &d->words, &d->shapes, words, count);
}
