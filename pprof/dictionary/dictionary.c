/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/dictionary/dictionary.h"

#include "pprof/dictionary/dict_streams.h"

/* The names appear in the statistics that the command line prints. */
const char *dict_stream_name(enum dict_stream s)
{
	static const char *const names[DICT_STREAMS] = {
		[STREAM_COUNTS] = "table: counts",
		[STREAM_LENGTHS] = "table: lengths of texts",
		[STREAM_TEXTS] = "table: texts",
		[STREAM_RUNS] = "table: mappings, labels, shapes",
		[STREAM_NAMES] = "table: function names",
		[STREAM_FILES] = "table: function files",
		[STREAM_STARTS] = "table: function start lines",
		[STREAM_LOCATIONS] = "table: locations",
		[STREAM_ADDRESSES] = "table: addresses",
		[STREAM_FUNCTIONS] = "table: functions of lines",
		[STREAM_LINES] = "table: lines",
		[STREAM_COLUMNS] = "table: columns of lines",
		[STREAM_SETS] = "table: labels of keys",
		[STREAM_NEW] = "table: depths of stacks",
		[STREAM_BASES] = "table: bases of stacks",
		[STREAM_FRAMES] = "table: frames of stacks",
	};

	return names[s];
}

/*
 * String 0 (the empty text) and node 0 (the empty stack) always exist; stored
 * tables omit them.
 */
void dict_init(struct dictionary *d)
{
	strtab_intern(&d->strings, str_of(""));
	*vec_add(&d->nodes) = (struct dict_node){ 0 };
	/* Reserve memory, so that pointers to empty runs (slices) are valid. */
	vec_reserve(&d->lines, 1);
	vec_reserve(&d->labels, 1);
	vec_reserve(&d->bindings, 1);
	vec_reserve(&d->words, 1);
}

/* Apart from the texts, elements have no memory outside of their vectors. */
void dict_fini(struct dictionary *d)
{
	strtab_fini(&d->strings);
	vec_fini(&d->mappings);
	vec_fini(&d->functions);
	vec_fini(&d->lines);
	vec_fini(&d->locations);
	vec_fini(&d->nodes);
	vec_fini(&d->labels);
	vec_fini(&d->label_sets);
	vec_fini(&d->keys);
	vec_fini(&d->depths);
	vec_fini(&d->bindings);
	vec_fini(&d->layouts);
	vec_fini(&d->words);
	vec_fini(&d->shapes);
}

/*
 * Count allocated sizes, not used ones, because allocated memory is charged to
 * memory budgets.
 */
size_t dict_memory(const struct dictionary *d)
{
	return sizeof(*d) + strtab_memory(&d->strings) +
	       vec_memory(&d->mappings) + vec_memory(&d->functions) +
	       vec_memory(&d->lines) + vec_memory(&d->locations) +
	       vec_memory(&d->nodes) + vec_memory(&d->labels) +
	       vec_memory(&d->label_sets) + vec_memory(&d->keys) +
	       vec_memory(&d->depths) + vec_memory(&d->bindings) +
	       vec_memory(&d->layouts) + vec_memory(&d->words) +
	       vec_memory(&d->shapes);
}

/*
 * The numbers of elements are enough for a mark: elements are never changed,
 * and new ones are added at the end.
 */
struct dict_mark dict_mark(const struct dictionary *d)
{
	return (struct dict_mark){
		.strings = d->strings.strings.count,
		.mappings = d->mappings.count,
		.functions = d->functions.count,
		.lines = d->lines.count,
		.locations = d->locations.count,
		.nodes = d->nodes.count,
		.labels = d->labels.count,
		.label_sets = d->label_sets.count,
		.keys = d->keys.count,
		.bindings = d->bindings.count,
		.layouts = d->layouts.count,
		.words = d->words.count,
		.shapes = d->shapes.count,
	};
}

/* Whether two dictionaries with the same number of texts have equal texts. */
static bool equal_strings(const struct dictionary *a,
			  const struct dictionary *b)
{
	for (uint32_t i = 0; i < a->strings.strings.count; i++) {
		if (!str_eq(dict_str(a, i), dict_str(b, i)))
			return false;
	}
	return true;
}

/* Compare mappings member by member, because the struct may have padding. */
static bool equal_mappings(const struct dictionary *a,
			   const struct dictionary *b)
{
	for (size_t i = 0; i < a->mappings.count; i++) {
		const struct dict_mapping *x = &a->mappings.v[i];
		const struct dict_mapping *y = &b->mappings.v[i];

		if (x->size != y->size || x->offset != y->offset ||
		    x->file != y->file || x->build_id != y->build_id ||
		    x->twin != y->twin)
			return false;
	}
	return true;
}

/* Compare functions member by member, because the struct may have padding. */
static bool equal_functions(const struct dictionary *a,
			    const struct dictionary *b)
{
	for (size_t i = 0; i < a->functions.count; i++) {
		const struct pprof_function *x = &a->functions.v[i];
		const struct pprof_function *y = &b->functions.v[i];

		if (x->name != y->name || x->system_name != y->system_name ||
		    x->file != y->file || x->start_line != y->start_line)
			return false;
	}
	return true;
}

/*
 * Compare lines, then locations, member by member, because the structs may have
 * padding.
 */
static bool equal_locations(const struct dictionary *a,
			    const struct dictionary *b)
{
	for (size_t i = 0; i < a->lines.count; i++) {
		const struct pprof_line *x = &a->lines.v[i];
		const struct pprof_line *y = &b->lines.v[i];

		if (x->function != y->function || x->line != y->line ||
		    x->column != y->column)
			return false;
	}
	for (size_t i = 0; i < a->locations.count; i++) {
		const struct pprof_location *x = &a->locations.v[i];
		const struct pprof_location *y = &b->locations.v[i];

		if (x->address != y->address || x->mapping != y->mapping ||
		    x->lines.first != y->lines.first ||
		    x->lines.count != y->lines.count || x->folded != y->folded)
			return false;
	}
	return true;
}

/* Whether two arrays have the same bytes; for structs without padding only. */
#define same_bytes(a, b, vec) \
	(!memcmp((a)->vec.v, (b)->vec.v, (a)->vec.count * sizeof(*(a)->vec.v)))

/* Like same_bytes(), for vectors that have no array while they are empty. */
#define same_array(a, b, vec) (!(a)->vec.count || same_bytes(a, b, vec))

/*
 * Whether two dictionaries have the same number of elements of each kind. All
 * other comparisons rely on this.
 */
static bool equal_counts(const struct dictionary *a, const struct dictionary *b)
{
	struct dict_mark x = dict_mark(a);
	struct dict_mark y = dict_mark(b);

	return !memcmp(&x, &y, sizeof(x));
}

/*
 * Bindings, words and the other arrays of numbers are compared as bytes; depths
 * are left out, because only decoding computes them.
 */
bool dict_equal(const struct dictionary *a, const struct dictionary *b)
{
	return equal_counts(a, b) && equal_strings(a, b) &&
	       equal_mappings(a, b) && equal_functions(a, b) &&
	       equal_locations(a, b) && same_array(a, b, nodes) &&
	       same_array(a, b, labels) && same_array(a, b, label_sets) &&
	       same_array(a, b, keys) && same_array(a, b, bindings) &&
	       same_array(a, b, layouts) && same_array(a, b, words) &&
	       same_array(a, b, shapes);
}
