/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/dictionary/dict_encode.h"

#include "base/enc.h"
#include "pprof/dictionary/dict_streams.h"
#include "pprof/dictionary/dictionary.h"
#include "pprof/dictionary/section.h"

/* Sections above LARGE bytes are compressed at LARGE_LEVEL at most. */
#define LARGE       ((size_t)256 * KIB)
#define LARGE_LEVEL 6

/*
 * State of encoding the elements that were added after the mark `from` (the
 * number of elements of each kind at that time).
 */
struct encoder {
	const struct dictionary *d;
	const struct dict_mark *from;
	struct buf streams[DICT_STREAMS];
	struct dict_ref strings;
	struct dict_guess guess;
};

/* Each array has one additional element, for "no function" or "no location". */
void dict_guess_init(struct dict_guess *g, size_t functions, size_t locations)
{
	g->address = mem_zalloc(functions + 1, sizeof(*g->address));
	g->line = mem_zalloc(functions + 1, sizeof(*g->line));
	g->met = mem_zalloc(functions + 1, sizeof(*g->met));
	g->parent = mem_zalloc(locations + 1, sizeof(*g->parent));
}

void dict_guess_fini(struct dict_guess *g)
{
	mem_free(g->address);
	mem_free(g->line);
	mem_free(g->met);
	mem_free(g->parent);
}

/* Write a reference to element `number`, as struct dict_ref describes. */
static void put_ref(struct buf *out, struct dict_ref *ref, uint32_t number)
{
	enc_svarint(out, (int64_t)(ref->top - number));
	if (number >= ref->top)
		ref->top = (uint64_t)number + 1;
}

/*
 * Write a reference to a string. References to strings share one top (see
 * struct dict_ref), whichever stream they are in.
 */
static void put_string(struct encoder *e, enum dict_stream s, uint32_t i)
{
	put_ref(&e->streams[s], &e->strings, i);
}

/*
 * Write the number of elements of each kind. The numbers of lines, labels,
 * bindings and words follow from the locations, label sets, layouts and shapes.
 */
static void put_counts(struct encoder *e)
{
	struct dict_mark now = dict_mark(e->d);
	struct dict_mark was = *e->from;
	const size_t counts[] = {
		now.strings - was.strings,     now.mappings - was.mappings,
		now.functions - was.functions, now.locations - was.locations,
		now.nodes - was.nodes,         now.label_sets - was.label_sets,
		now.keys - was.keys,           now.layouts - was.layouts,
		now.shapes - was.shapes,
	};

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		enc_uvarint(&e->streams[STREAM_COUNTS], counts[i]);
}

/* Write the texts and their lengths. */
static void put_strings(struct encoder *e)
{
	for (size_t i = e->from->strings; i < e->d->strings.strings.count;
	     i++) {
		struct str s = dict_str(e->d, (uint32_t)i);

		enc_uvarint(&e->streams[STREAM_LENGTHS], s.len);
		buf_add(&e->streams[STREAM_TEXTS], s.ptr, s.len);
	}
}

/* Write the mappings. */
static void put_mappings(struct encoder *e)
{
	struct buf *out = &e->streams[STREAM_RUNS];

	for (size_t i = e->from->mappings; i < e->d->mappings.count; i++) {
		const struct dict_mapping *m = &e->d->mappings.v[i];

		enc_uvarint(out, m->size);
		enc_uvarint(out, m->offset);
		put_string(e, STREAM_RUNS, m->file);
		put_string(e, STREAM_RUNS, m->build_id);
		enc_uvarint(out, m->twin);
	}
}

/* Write one label: a text or a number with a unit. */
static void dict_encode_put_label(struct encoder *e,
				  const struct pprof_label *l)
{
	struct buf *out = &e->streams[STREAM_RUNS];

	put_string(e, STREAM_RUNS, l->key);
	enc_uvarint(out, l->is_number);
	if (l->is_number) {
		enc_svarint(out, l->num);
		put_string(e, STREAM_RUNS, l->unit);
	} else {
		put_string(e, STREAM_RUNS, l->str);
	}
}

/* Write the label sets. */
static void put_label_sets(struct encoder *e)
{
	const struct dictionary *d = e->d;

	for (size_t i = e->from->label_sets; i < d->label_sets.count; i++) {
		struct pprof_run r = d->label_sets.v[i];

		enc_uvarint(&e->streams[STREAM_RUNS], r.count);
		for (uint32_t k = 0; k < r.count; k++)
			dict_encode_put_label(e, &d->labels.v[r.first + k]);
	}
}

/*
 * Write the layouts. A layout lists the mappings of a profile with their load
 * addresses.
 */
static void put_layouts(struct encoder *e)
{
	const struct dictionary *d = e->d;
	struct buf *out = &e->streams[STREAM_RUNS];

	for (size_t i = e->from->layouts; i < d->layouts.count; i++) {
		struct pprof_run r = d->layouts.v[i];

		enc_uvarint(out, r.count);
		for (uint32_t k = 0; k < r.count; k++) {
			const struct dict_binding *b =
				&d->bindings.v[r.first + k];

			enc_uvarint(out, b->mapping);
			enc_uvarint(out, b->start);
			enc_uvarint(out, b->flags);
		}
	}
}

/* Write the shapes (layout.h), word by word. */
static void put_shapes(struct encoder *e)
{
	const struct dictionary *d = e->d;
	struct buf *out = &e->streams[STREAM_RUNS];

	for (size_t i = e->from->shapes; i < d->shapes.count; i++) {
		struct pprof_run r = d->shapes.v[i];

		enc_uvarint(out, r.count);
		for (uint32_t k = 0; k < r.count; k++)
			enc_uvarint(out, d->words.v[r.first + k]);
	}
}

/* Write the functions, whose fields go to three streams. */
static void put_functions(struct encoder *e)
{
	for (size_t i = e->from->functions; i < e->d->functions.count; i++) {
		const struct pprof_function *f = &e->d->functions.v[i];

		put_string(e, STREAM_NAMES, f->name);
		put_string(e, STREAM_NAMES, f->system_name);
		enc_svarint(&e->streams[STREAM_STARTS], f->start_line);
		put_string(e, STREAM_FILES, f->file);
	}
}

/*
 * Write one line of a location. Line numbers of a function are close together,
 * so each is written as the difference to the previous line number of the same
 * function or, if there is none, to the function's start line.
 */
static void dict_encode_put_line(struct encoder *e, struct dict_ref *functions,
				 const struct pprof_line *l)
{
	struct dict_guess *g = &e->guess;
	int64_t near = g->met[l->function] ?
			       g->line[l->function] :
			       e->d->functions.v[l->function].start_line;

	put_ref(&e->streams[STREAM_FUNCTIONS], functions, l->function);
	enc_svarint(&e->streams[STREAM_LINES], wrap_sub(l->line, near));
	enc_svarint(&e->streams[STREAM_COLUMNS], l->column);
	g->line[l->function] = l->line;
	g->met[l->function] = true;
}

/* The outermost function of a location, or `none` if it has no lines. */
static uint32_t dict_encode_outermost(const struct dictionary *d,
				      const struct pprof_location *l,
				      uint32_t none)
{
	return l->lines.count ? d->lines.v[l->lines.first + l->lines.count - 1]
					.function :
				none;
}

/*
 * Write the locations. Addresses within a function are close together, so each
 * address is written as the difference to that of the previous location with
 * the same outermost function.
 */
static void put_locations(struct encoder *e)
{
	const struct dictionary *d = e->d;
	struct dict_ref functions = { e->from->functions };
	uint32_t none = (uint32_t)d->functions.count;
	uint64_t last = 0;

	for (size_t i = e->from->locations; i < d->locations.count; i++) {
		const struct pprof_location *l = &d->locations.v[i];
		uint64_t *near =
			&e->guess.address[dict_encode_outermost(d, l, none)];

		/*
		 * If there is no mapping, this writes 0: PPROF_NONE + 1 wraps
		 * around.
		 */
		enc_uvarint(&e->streams[STREAM_LOCATIONS],
			    (uint32_t)(l->mapping + 1));
		enc_uvarint(&e->streams[STREAM_LOCATIONS],
			    (uint64_t)l->lines.count << 1 | l->folded);
		for (uint32_t k = 0; k < l->lines.count; k++)
			dict_encode_put_line(e, &functions,
					     &d->lines.v[l->lines.first + k]);
		enc_svarint(&e->streams[STREAM_ADDRESSES],
			    (int64_t)(l->address - (*near ? *near : last)));
		*near = last = l->address;
	}
}

/*
 * Write the locations of a key's new nodes, innermost first. If a location has
 * the same caller as last time, which is the usual case, the caller is written
 * as 0.
 */
static void put_frames(struct encoder *e, struct dict_ref *locations,
		       uint32_t node, size_t count)
{
	struct buf *out = &e->streams[STREAM_FRAMES];
	/*
	 * The innermost node calls no other: start with the additional element
	 * of the array guess.parent.
	 */
	uint32_t inner = (uint32_t)e->d->locations.count;

	for (size_t i = 0; i < count; i++) {
		uint32_t l = e->d->nodes.v[node].location;
		uint32_t *guess = &e->guess.parent[inner];

		if (*guess == l + 1) {
			enc_uvarint(out, 0);
		} else {
			int64_t back = (int64_t)(locations->top - l);

			enc_uvarint(out, 1 + ((uint64_t)back << 1 ^
					      (uint64_t)(back >> 63)));
			*guess = l + 1;
		}
		if (l >= locations->top)
			locations->top = (uint64_t)l + 1;
		inner = l;
		node = e->d->nodes.v[node].parent;
	}
}

/*
 * Write the keys, each with the nodes that were added for it. These nodes have
 * consecutive numbers; the last one is the node of the key's stack.
 */
static void dict_encode_put_keys(struct encoder *e)
{
	const struct dictionary *d = e->d;
	struct dict_ref sets = { e->from->label_sets };
	struct dict_ref locations = { e->from->locations };
	size_t nodes = e->from->nodes;

	for (size_t i = e->from->keys; i < d->keys.count; i++) {
		const struct pprof_sample *k = &d->keys.v[i];
		size_t new = k->stack < nodes ? 0 : k->stack + 1 - nodes;
		uint32_t base = new ? d->nodes.v[nodes].parent : k->stack;

		put_ref(&e->streams[STREAM_SETS], &sets, k->labels);
		enc_uvarint(&e->streams[STREAM_NEW], new);
		enc_uvarint(&e->streams[STREAM_BASES],
			    base == DICT_ROOT ? 0 : nodes - base);
		put_frames(e, &locations, k->stack, new);
		nodes += new;
	}
}

/*
 * The compression level for a section of `len` bytes. Large sections get a
 * lower level, because high levels need much time and memory for them.
 */
static int level_for(int level, size_t len)
{
	return len > LARGE && level > LARGE_LEVEL ? LARGE_LEVEL : level;
}

void dict_encode(const struct dictionary *d, const struct dict_mark *from,
		 int level, struct buf *out)
{
	struct encoder e = { .d = d, .from = from };
	struct zstd *z = zstd_new();

	e.strings.top = from->strings;
	dict_guess_init(&e.guess, d->functions.count, d->locations.count);
	put_counts(&e);
	put_strings(&e);
	put_mappings(&e);
	put_label_sets(&e);
	put_layouts(&e);
	put_shapes(&e);
	put_functions(&e);
	put_locations(&e);
	dict_encode_put_keys(&e);
	for (size_t i = 0; i < DICT_STREAMS; i++) {
		section_put(z, level_for(level, e.streams[i].len),
			    buf_bytes(&e.streams[i]), out);
		buf_fini(&e.streams[i]);
	}
	dict_guess_fini(&e.guess);
	zstd_free(z);
}
