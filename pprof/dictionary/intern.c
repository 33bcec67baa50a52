/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/dictionary/intern.h"

#include "base/hash.h"

/*
 * Finds or adds mappings, layouts (the mappings of a profile with their load
 * addresses) and shapes (the dialect of a profile and the order of its fields,
 * layout.h).
 */

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

/* Hash of a block of memory, for the hash tables of the interner. */
static uint64_t intern_hash(const void *p, size_t size)
{
	return hash_key((struct bytes){ .ptr = p, .len = size });
}

/* Hash of a mapping, for the hash table of mappings. */
static uint64_t intern_hash_mapping(const struct dict_mapping *m)
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
 * Find or add string i of the current profile, which must exist, and return its
 * number in the dictionary.
 *
 * Strings are mapped on demand, so that only the strings that are used enter
 * the dictionary, in the order of their use.
 */
static uint32_t intern_text(struct intern *in, uint32_t i)
{
	uint32_t *to = &in->string_map.to.v[i];

	if (*to == PPROF_NONE)
		*to = strtab_intern_next(&in->d->strings, pprof_str(in->src, i),
					 &in->next_string);
	return *to;
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

/*
 * Whether run i equals `key`, a struct run_key. `ctx` is not used. Compares the
 * elements as bytes, so they must have no padding.
 */
static bool intern_same_run(const void *ctx UNUSED, uint32_t i, const void *key)
{
	const struct run_key *k = key;
	struct pprof_run r = k->runs.runs[i];
	const uint8_t *have = k->runs.elements;

	return r.count == k->count &&
	       (!r.count || !memcmp(have + r.first * k->runs.size, k->want,
				    r.count * k->runs.size));
}

/* Hash of the elements of run i. */
static uint64_t intern_hash_run(const struct runs *r, uint32_t i)
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

/*
 * Finds or adds functions and locations.
 */

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

/* Hash of a function, for the hash table of functions. */
static uint64_t intern_hash_function(const struct pprof_function *f)
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

/*
 * Hash of location i of the dictionary, for the hash table of locations. The
 * lines of the location must exist.
 */
static uint64_t intern_hash_location(struct intern *in, uint32_t i)
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

/*
 * Return the dictionary's number for location i of the current profile; add the
 * location if it is new. Its mapping must be in the dictionary already
 * (intern_mappings()).
 */
static uint32_t intern_map_location(struct intern *in, uint32_t i)
{
	uint32_t *to = &in->location_map.to.v[i];

	if (*to == PPROF_NONE)
		*to = intern_location(in, i);
	return *to;
}

struct intern *intern_new(struct dictionary *d)
{
	struct intern *in = mem_new(struct intern);

	in->d = d;
	return in;
}

void intern_free(struct intern *in)
{
	if (!in)
		return;
	table_fini(&in->mappings);
	table_fini(&in->functions.table);
	table_fini(&in->locations.table);
	table_fini(&in->nodes);
	table_fini(&in->label_sets);
	table_fini(&in->keys);
	table_fini(&in->layouts);
	table_fini(&in->shapes);
	vec_fini(&in->string_map.to);
	vec_fini(&in->mapping_map.to);
	vec_fini(&in->function_map.to);
	vec_fini(&in->location_map.to);
	vec_fini(&in->scratch);
	vec_fini(&in->labels);
	vec_fini(&in->bindings);
	vec_fini(&in->bound);
	mem_free(in);
}

size_t intern_memory(const struct intern *in)
{
	return sizeof(*in) + table_memory(&in->mappings) +
	       table_memory(&in->functions.table) +
	       table_memory(&in->locations.table) + table_memory(&in->nodes) +
	       table_memory(&in->label_sets) + table_memory(&in->keys) +
	       table_memory(&in->layouts) + table_memory(&in->shapes) +
	       vec_memory(&in->string_map.to) +
	       vec_memory(&in->mapping_map.to) +
	       vec_memory(&in->function_map.to) +
	       vec_memory(&in->location_map.to) + vec_memory(&in->scratch) +
	       vec_memory(&in->labels) + vec_memory(&in->bindings) +
	       vec_memory(&in->bound);
}

/*
 * Forget the maps of the previous profile. Hash tables are kept, and so are the
 * hints (which element is likely to be looked up next).
 */
void intern_begin(struct intern *in, const struct pprof *p)
{
	in->src = p;
	in->profiles++;
	placemap_reset(&in->string_map, p->strings.strings.count);
	placemap_reset(&in->mapping_map, p->mappings.count);
	placemap_reset(&in->function_map, p->functions.count);
	placemap_reset(&in->location_map, p->locations.count);
	in->bindings.count = 0;
}

bool intern_string(struct intern *in, uint64_t i, uint32_t *out)
{
	if (i >= in->src->strings.strings.count)
		return false;
	*out = intern_text(in, (uint32_t)i);
	return true;
}

/*
 * Hash of the two numbers of a node (parent, location) or of a key (node, label
 * set).
 */
static uint64_t hash_pair(uint32_t a, uint32_t b)
{
	uint64_t word = (uint64_t)a << 32 | b;

	return intern_hash(&word, sizeof(word));
}

/*
 * Whether node i equals `*key`. Compares bytes, as the struct has no padding.
 */
static bool same_node(const void *ctx, uint32_t i, const void *key)
{
	const struct dictionary *d = ctx;

	return !memcmp(&d->nodes.v[i], key, sizeof(struct dict_node));
}

/* Whether node i exists and equals *n. */
static bool is_node(const struct dictionary *d, size_t i,
		    const struct dict_node *n)
{
	return i < d->nodes.count && same_node(d, (uint32_t)i, n);
}

/* Find or add the node with this parent and this location. */
static uint32_t intern_child(struct intern *in, uint32_t parent,
			     uint32_t location)
{
	struct dictionary *d = in->d;
	struct dict_node n = { parent, location };
	uint64_t hash;
	uint32_t i;

	/* A stack's nodes mostly have consecutive numbers. */
	if (is_node(d, parent + 1, &n))
		return parent + 1;
	hash = hash_pair(parent, location);
	i = table_find(&in->nodes, hash, same_node, d, &n);
	if (i != TABLE_NONE)
		return i;
	i = (uint32_t)d->nodes.count;
	table_add(&in->nodes, hash, i);
	*vec_add(&d->nodes) = n;
	return i;
}

/* Find or add the node that stands for a stack. */
static uint32_t intern_stack(struct intern *in, const struct pprof_run *stack)
{
	const uint32_t *frames = in->src->frames.v + stack->first;
	uint32_t node = DICT_ROOT;

	/*
	 * Look up all locations before the nodes, innermost first, so that new
	 * locations are added in the order of the profile's stack.
	 */
	for (uint32_t i = 0; i < stack->count; i++)
		intern_map_location(in, frames[i]);
	for (uint32_t i = stack->count; i > 0; i--)
		node = intern_child(in, node,
				    intern_map_location(in, frames[i - 1]));
	return node;
}

/*
 * Whether a node stands for the given stack. Comparing is cheaper than looking
 * up every node of the stack.
 */
static bool is_stack(struct intern *in, const struct pprof_run *stack,
		     uint32_t node)
{
	const uint32_t *frames = in->src->frames.v + stack->first;
	const struct dictionary *d = in->d;

	for (uint32_t i = 0; i < stack->count; i++) {
		if (node == DICT_ROOT ||
		    d->nodes.v[node].location !=
			    intern_map_location(in, frames[i]))
			return false;
		node = d->nodes.v[node].parent;
	}
	return node == DICT_ROOT;
}

/*
 * Copy a label set of the profile to in->labels, with the dictionary's numbers
 * of its strings.
 */
static void read_labels(struct intern *in, struct pprof_run set)
{
	in->labels.count = 0;
	vec_reserve(&in->labels, 1);
	for (uint32_t i = 0; i < set.count; i++) {
		struct pprof_label l = in->src->labels.v[set.first + i];

		l.key = intern_text(in, l.key);
		l.str = intern_text(in, l.str);
		l.unit = intern_text(in, l.unit);
		*vec_add(&in->labels) = l;
	}
}

/* Find or add the label set in in->labels. */
static uint32_t intern_labels(struct intern *in)
{
	struct dictionary *d = in->d;

	return find_run(&in->label_sets, &d->labels, &d->label_sets,
			in->labels.v, (uint32_t)in->labels.count);
}

/* Whether a label set of the dictionary equals in->labels. */
static bool is_label_set(const struct intern *in, uint32_t set)
{
	struct run_key k = { runs_of(&in->d->labels, &in->d->label_sets),
			     in->labels.v, (uint32_t)in->labels.count };

	return intern_same_run(NULL, set, &k);
}

/* Whether key i equals `*key`. Compares bytes, as the struct has no padding. */
static bool intern_same_key(const void *ctx, uint32_t i, const void *key)
{
	const struct dictionary *d = ctx;

	return !memcmp(&d->keys.v[i], key, sizeof(struct pprof_sample));
}

uint32_t intern_key(struct intern *in, size_t sample, uint32_t likely)
{
	struct dictionary *d = in->d;
	const struct pprof *src = in->src;
	const struct pprof_run *stack = pprof_stack(src, sample);
	struct pprof_sample k;
	uint64_t hash;
	uint32_t i;

	read_labels(in, src->label_sets.v[src->samples.v[sample].labels]);
	/*
	 * Profiles of one program mostly repeat the same keys in the same
	 * order.
	 */
	if (likely < d->keys.count &&
	    is_stack(in, stack, d->keys.v[likely].stack) &&
	    is_label_set(in, d->keys.v[likely].labels))
		return likely;
	k.stack = intern_stack(in, stack);
	k.labels = intern_labels(in);
	hash = hash_pair(k.stack, k.labels);
	i = table_find(&in->keys, hash, intern_same_key, d, &k);
	if (i != TABLE_NONE)
		return i;
	i = (uint32_t)d->keys.count;
	table_add(&in->keys, hash, i);
	*vec_add(&d->keys) = k;
	return i;
}

/*
 * Remove the runs (slices of a vector) whose index is `to` or higher, also from
 * their hash table. The elements of the runs must still exist, because the
 * hashes are computed from them.
 */
static void rollback_runs(struct table *t, struct runs runs, size_t *count,
			  size_t to)
{
	while (*count > to) {
		uint32_t i = (uint32_t)-- * count;

		table_remove(t, intern_hash_run(&runs, i), i);
	}
}

/* Remove the keys and nodes that were added since the mark. */
static void rollback_stacks(struct intern *in, const struct dict_mark *mark)
{
	struct dictionary *d = in->d;

	while (d->keys.count > mark->keys) {
		uint32_t i = (uint32_t)--d->keys.count;

		table_remove(&in->keys,
			     hash_pair(d->keys.v[i].stack, d->keys.v[i].labels),
			     i);
	}
	while (d->nodes.count > mark->nodes) {
		uint32_t i = (uint32_t)--d->nodes.count;

		table_remove(
			&in->nodes,
			hash_pair(d->nodes.v[i].parent, d->nodes.v[i].location),
			i);
	}
}

/*
 * Remove the locations, functions and mappings that were added since the mark.
 * Locations go first: to find one in its hash table, its hash is computed,
 * which reads its lines and functions.
 */
static void rollback_symbols(struct intern *in, const struct dict_mark *mark)
{
	struct dictionary *d = in->d;

	while (d->locations.count > mark->locations) {
		uint32_t i = (uint32_t)d->locations.count - 1;

		table_remove(&in->locations.table, intern_hash_location(in, i),
			     i);
		d->locations.count--;
	}
	d->lines.count = mark->lines;
	while (d->functions.count > mark->functions) {
		uint32_t i = (uint32_t)--d->functions.count;

		table_remove(&in->functions.table,
			     intern_hash_function(&d->functions.v[i]), i);
	}
	while (d->mappings.count > mark->mappings) {
		uint32_t i = (uint32_t)--d->mappings.count;

		table_remove(&in->mappings,
			     intern_hash_mapping(&d->mappings.v[i]), i);
	}
}

void intern_rollback_shapes(struct intern *in, const struct dict_mark *mark)
{
	struct dictionary *d = in->d;

	rollback_runs(&in->shapes, runs_of(&d->words, &d->shapes),
		      &d->shapes.count, mark->shapes);
	d->words.count = mark->words;
}

/*
 * To find an element in its hash table, its hash is computed, for some kinds
 * from elements of other kinds. So each kind is removed before the kinds that
 * its hashes need, and strings last. Hints may then be numbers of removed
 * elements; lookups check for this.
 */
void intern_rollback(struct intern *in, const struct dict_mark *mark)
{
	struct dictionary *d = in->d;

	rollback_stacks(in, mark);
	rollback_runs(&in->label_sets, runs_of(&d->labels, &d->label_sets),
		      &d->label_sets.count, mark->label_sets);
	d->labels.count = mark->labels;
	rollback_runs(&in->layouts, runs_of(&d->bindings, &d->layouts),
		      &d->layouts.count, mark->layouts);
	d->bindings.count = mark->bindings;
	intern_rollback_shapes(in, mark);
	rollback_symbols(in, mark);
	strtab_truncate(&d->strings, mark->strings);
}
