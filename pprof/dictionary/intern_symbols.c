/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/dictionary/intern_symbols.h"

#include "pprof/dictionary/intern_private.h"

/* Number of words in a location's lookup key before the words of its lines. */
#define LOCATION_HEAD 3

/* Whether function i equals `*key`, for the hash table of functions. */
static bool intern_same_function(const void *ctx, uint32_t i, const void *key)
{
	const struct dictionary *d = ctx;
	const struct pprof_function *a = &d->functions.v[i];
	const struct pprof_function *b = key;

	return a->name == b->name && a->system_name == b->system_name &&
	       a->file == b->file && a->start_line == b->start_line;
}

uint64_t intern_hash_function(const struct pprof_function *f)
{
	uint64_t words[] = { (uint64_t)f->name << 32 | f->system_name, f->file,
			     (uint64_t)f->start_line };

	return intern_hash(words, sizeof(words));
}

/*
 * Find or add a function. The function that is likely to come next (member
 * `next`) is tried first.
 */
static uint32_t find_function(struct intern *in, const struct pprof_function *f)
{
	struct dictionary *d = in->d;
	uint32_t i = in->functions.next;
	uint64_t hash;

	if (i < d->functions.count && intern_same_function(d, i, f))
		return i;
	hash = intern_hash_function(f);
	i = table_find(&in->functions.table, hash, intern_same_function, d, f);
	if (i != TABLE_NONE)
		return i;
	i = (uint32_t)d->functions.count;
	table_add(&in->functions.table, hash, i);
	*vec_add(&d->functions) = *f;
	return i;
}

/*
 * Return the dictionary's number of function i of the current profile. A map
 * keeps the number, so that each function is looked up once per profile.
 */
static uint32_t intern_map_function(struct intern *in, uint32_t i)
{
	uint32_t *to = &in->function_map.to.v[i];
	const struct pprof_function *f = &in->src->functions.v[i];

	if (*to == PPROF_NONE) {
		*to = find_function(
			in,
			&(struct pprof_function){
				.name = intern_text(in, f->name),
				.system_name = intern_text(in, f->system_name),
				.file = intern_text(in, f->file),
				.start_line = f->start_line,
			});
		in->functions.next = *to + 1;
	}
	return *to;
}

/*
 * Write the first words of a location's lookup key. The words of its lines
 * follow them.
 */
static void location_head(const struct pprof_location *l,
			  uint64_t head[LOCATION_HEAD])
{
	head[0] = l->address;
	head[1] = l->mapping;
	head[2] = (uint64_t)l->lines.count << 1 | l->folded;
}

/*
 * Whether location i has the lookup key `key`, which has the format of
 * in->scratch.
 */
static bool intern_same_location(const void *ctx, uint32_t i, const void *key)
{
	const struct dictionary *d = ctx;
	const struct pprof_location *l = &d->locations.v[i];
	const struct pprof_line *line = d->lines.v + l->lines.first;
	const uint64_t *k = key;
	uint64_t head[LOCATION_HEAD];

	location_head(l, head);
	if (memcmp(head, k, sizeof(head)) != 0)
		return false;
	k += LOCATION_HEAD;
	for (uint32_t n = 0; n < l->lines.count; n++, line++, k += 3) {
		if (line->function != k[0] || (uint64_t)line->line != k[1] ||
		    (uint64_t)line->column != k[2])
			return false;
	}
	return true;
}

/* Append the three words of a line to the lookup key in in->scratch. */
static void intern_write_line(struct intern *in, uint32_t function,
			      const struct pprof_line *l)
{
	*vec_add(&in->scratch) = function;
	*vec_add(&in->scratch) = (uint64_t)l->line;
	*vec_add(&in->scratch) = (uint64_t)l->column;
}

/* Begin the lookup key of a location in in->scratch. */
static void write_head(struct intern *in, const struct pprof_location *l)
{
	in->scratch.count = 0;
	vec_reserve(&in->scratch, LOCATION_HEAD);
	location_head(l, in->scratch.v);
	in->scratch.count = LOCATION_HEAD;
}

/* Hash of the lookup key in in->scratch. */
static uint64_t hash_scratch(const struct intern *in)
{
	return intern_hash(in->scratch.v, in->scratch.count * sizeof(uint64_t));
}

uint64_t intern_hash_location(struct intern *in, uint32_t i)
{
	const struct pprof_location *l = &in->d->locations.v[i];

	write_head(in, l);
	for (uint32_t n = 0; n < l->lines.count; n++) {
		const struct pprof_line *line =
			&in->d->lines.v[l->lines.first + n];

		intern_write_line(in, line->function, line);
	}
	return hash_scratch(in);
}

/*
 * Find the location whose lookup key is in in->scratch; TABLE_NONE if it is
 * new. The location that is likely to come next (member `next`) is tried first.
 */
static uint32_t find_location(struct intern *in)
{
	struct dictionary *d = in->d;
	const uint64_t *key = in->scratch.v;
	uint32_t i = in->locations.next;

	if (i < d->locations.count && intern_same_location(d, i, key))
		return i;
	return table_find(&in->locations.table, hash_scratch(in),
			  intern_same_location, d, key);
}

/* Add the location whose lookup key is in in->scratch, with its lines. */
static uint32_t intern_add_location(struct intern *in,
				    struct pprof_location new)
{
	struct dictionary *d = in->d;
	uint32_t i = (uint32_t)d->locations.count;
	struct pprof_run from = new.lines;

	table_add(&in->locations.table, hash_scratch(in), i);
	new.lines.first = (uint32_t)d->lines.count;
	for (uint32_t n = 0; n < from.count; n++) {
		struct pprof_line l = in->src->lines.v[from.first + n];

		l.function = intern_map_function(in, l.function);
		*vec_add(&d->lines) = l;
	}
	*vec_add(&d->locations) = new;
	return i;
}

/*
 * Find or add a location of the profile. Addresses become relative to their
 * mapping, so that a program loaded at another address has the same locations.
 */
static uint32_t intern_location(struct intern *in, uint32_t i)
{
	struct pprof_location l = in->src->locations.v[i];
	uint32_t to;

	if (l.mapping != PPROF_NONE) {
		l.address -= in->src->mappings.v[l.mapping].start;
		l.mapping = in->mapping_map.to.v[l.mapping];
	}
	write_head(in, &l);
	for (uint32_t n = 0; n < l.lines.count; n++) {
		const struct pprof_line *line =
			&in->src->lines.v[l.lines.first + n];

		intern_write_line(in, intern_map_function(in, line->function),
				  line);
	}
	to = find_location(in);
	if (to == TABLE_NONE)
		to = intern_add_location(in, l);
	in->locations.next = to + 1;
	return to;
}

uint32_t intern_map_location(struct intern *in, uint32_t i)
{
	uint32_t *to = &in->location_map.to.v[i];

	if (*to == PPROF_NONE)
		*to = intern_location(in, i);
	return *to;
}
