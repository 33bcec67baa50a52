/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/dictionary/intern.h"

#include "base/hash.h"
#include "pprof/dictionary/intern_mappings.h"
#include "pprof/dictionary/intern_private.h"
#include "pprof/dictionary/intern_symbols.h"

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

uint64_t intern_hash(const void *p, size_t size)
{
	return hash_key((struct bytes){ .ptr = p, .len = size });
}

/*
 * Strings are mapped on demand, so that only the strings that are used enter
 * the dictionary, in the order of their use.
 */
uint32_t intern_text(struct intern *in, uint32_t i)
{
	uint32_t *to = &in->string_map.to.v[i];

	if (*to == PPROF_NONE)
		*to = strtab_intern_next(&in->d->strings, pprof_str(in->src, i),
					 &in->next_string);
	return *to;
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
