/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/dictionary/dict_decode.h"

#include "base/dec.h"
#include "pprof/dictionary/dict_encode.h"
#include "pprof/dictionary/dict_streams.h"
#include "pprof/dictionary/dictionary.h"
#include "pprof/dictionary/layout.h"
#include "pprof/dictionary/section.h"

/*
 * State of decoding a dictionary. An error sets a flag, after which all
 * functions that read return 0 and loops stop. So is_bad() need not be checked
 * after each number.
 */
struct decoder {
	struct dictionary *d;
	struct buf raw[DICT_STREAMS];
	struct dec streams[DICT_STREAMS];
	/* Number of elements of each kind, from the stream STREAM_COUNTS. */
	struct dict_mark counts;
	struct dict_ref strings;
	struct dict_guess guess;
	/*
	 * Whether a number was out of range. A stream that ends early sets a
	 * flag of its own.
	 */
	bool bad;
};

/*
 * Read a reference to an element (see struct dict_ref), and return the
 * element's number, which must be less than `limit`.
 */
static uint32_t get_ref(struct decoder *e, enum dict_stream s,
			struct dict_ref *ref, size_t limit)
{
	uint64_t number = ref->top - (uint64_t)dec_svarint(&e->streams[s]);

	if (number >= limit) {
		e->bad = true;
		return 0;
	}
	if (number >= ref->top)
		ref->top = number + 1;
	return (uint32_t)number;
}

/*
 * Read a reference to a string. References to strings share one top (see struct
 * dict_ref), whichever stream they are in.
 */
static uint32_t get_string(struct decoder *e, enum dict_stream s)
{
	return get_ref(e, s, &e->strings, e->counts.strings);
}

/* Read an unsigned number that must be less than `limit`. */
static uint32_t get_below(struct decoder *e, enum dict_stream s, uint64_t limit)
{
	uint64_t v = dec_uvarint(&e->streams[s]);

	if (v < limit)
		return (uint32_t)v;
	e->bad = true;
	return 0;
}

/* Whether any stream ended early or contained a number out of range. */
static bool is_bad(const struct decoder *e)
{
	if (e->bad)
		return true;
	for (size_t i = 0; i < DICT_STREAMS; i++) {
		if (e->streams[i].bad)
			return true;
	}
	return false;
}

/*
 * Read the number of elements of each kind. Each element takes at least one
 * byte of the stream that is listed here for its kind. A number above the
 * length of that stream is an error, so that the length of the streams bounds
 * the memory.
 */
static void get_counts(struct decoder *e)
{
	struct dict_mark *m = &e->counts;
	size_t *const counts[] = {
		&m->strings,   &m->mappings, &m->functions,
		&m->locations, &m->nodes,    &m->label_sets,
		&m->keys,      &m->layouts,  &m->shapes,
	};
	const enum dict_stream streams[] = {
		STREAM_LENGTHS,   STREAM_RUNS,   STREAM_NAMES,
		STREAM_LOCATIONS, STREAM_FRAMES, STREAM_RUNS,
		STREAM_SETS,      STREAM_RUNS,   STREAM_RUNS,
	};

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		*counts[i] =
			(size_t)dec_count(&e->streams[STREAM_COUNTS],
					  dec_left(&e->streams[streams[i]]));
	m->strings += 1; /* the empty text is not stored */
	/* The root node (the empty stack) is not stored, either. */
	m->nodes += 1;
}

/* Read all texts: copy them in one piece, then split it by their lengths. */
static void get_strings(struct decoder *e)
{
	struct strtab *t = &e->d->strings;
	struct dec *texts = &e->streams[STREAM_TEXTS];
	struct str in = { .ptr = (const char *)texts->pos,
			  .len = dec_left(texts) };
	struct str all = arena_str(&t->text, in.len ? in : str_of(""));
	size_t at = 0;

	texts->pos = texts->end;
	while (t->strings.count < e->counts.strings) {
		size_t len = (size_t)dec_count(&e->streams[STREAM_LENGTHS],
					       all.len - at);

		if (is_bad(e))
			return;
		*vec_add(&t->strings) = (struct str){ all.ptr + at, len };
		at += len;
	}
	e->bad = e->bad || at != all.len;
}

/* Read the mappings. */
static void get_mappings(struct decoder *e)
{
	struct dec *in = &e->streams[STREAM_RUNS];

	while (e->d->mappings.count < e->counts.mappings && !is_bad(e)) {
		struct dict_mapping *m = vec_add(&e->d->mappings);

		m->size = dec_uvarint(in);
		m->offset = dec_uvarint(in);
		m->file = get_string(e, STREAM_RUNS);
		m->build_id = get_string(e, STREAM_RUNS);
		m->twin = get_below(e, STREAM_RUNS, UINT32_MAX);
	}
}

/* Read one label: a text or a number with a unit. */
static void get_label(struct decoder *e)
{
	struct dec *in = &e->streams[STREAM_RUNS];
	struct pprof_label *l = vec_add(&e->d->labels);

	*l = (struct pprof_label){ .key = get_string(e, STREAM_RUNS) };
	l->is_number = get_below(e, STREAM_RUNS, 2);
	if (l->is_number) {
		l->num = dec_svarint(in);
		l->unit = get_string(e, STREAM_RUNS);
	} else {
		l->str = get_string(e, STREAM_RUNS);
	}
}

/* Read the label sets. */
static void get_label_sets(struct decoder *e)
{
	struct dictionary *d = e->d;

	while (d->label_sets.count < e->counts.label_sets && !is_bad(e)) {
		struct pprof_run *r = vec_add(&d->label_sets);

		r->first = (uint32_t)d->labels.count;
		r->count = get_below(e, STREAM_RUNS, UINT32_MAX);
		for (uint32_t i = 0; i < r->count && !is_bad(e); i++)
			get_label(e);
	}
}

/*
 * Read the layouts. A layout lists the mappings of a profile with their load
 * addresses.
 */
static void get_layouts(struct decoder *e)
{
	struct dec *in = &e->streams[STREAM_RUNS];
	struct dictionary *d = e->d;

	while (d->layouts.count < e->counts.layouts && !is_bad(e)) {
		struct pprof_run *r = vec_add(&d->layouts);

		r->first = (uint32_t)d->bindings.count;
		r->count = get_below(e, STREAM_RUNS, DICT_LAYOUT_MAX + 1);
		for (uint32_t i = 0; i < r->count && !is_bad(e); i++) {
			struct dict_binding *b = vec_add(&d->bindings);

			b->mapping =
				get_below(e, STREAM_RUNS, d->mappings.count);
			b->start = dec_uvarint(in);
			b->flags = get_below(e, STREAM_RUNS, 16);
		}
	}
}

/*
 * Read the shapes (layout.h). Each shape is validated here, so that
 * layout_next_shape() need not check anything.
 */
static void get_shapes(struct decoder *e)
{
	struct dictionary *d = e->d;

	while (d->shapes.count < e->counts.shapes && !is_bad(e)) {
		struct pprof_run *r = vec_add(&d->shapes);

		r->first = (uint32_t)d->words.count;
		r->count = get_below(e, STREAM_RUNS, SHAPE_WORDS_MAX + 1);
		for (uint32_t i = 0; i < r->count && !is_bad(e); i++)
			*vec_add(&d->words) =
				get_below(e, STREAM_RUNS, UINT32_MAX);
		if (is_bad(e) ||
		    !layout_valid_shape(d->words.v + r->first, r->count,
					e->counts.strings))
			e->bad = true;
	}
}

/* Read the functions, whose fields are in three streams. */
static void get_functions(struct decoder *e)
{
	struct dictionary *d = e->d;

	while (d->functions.count < e->counts.functions && !is_bad(e)) {
		struct pprof_function *f = vec_add(&d->functions);

		f->name = get_string(e, STREAM_NAMES);
		f->system_name = get_string(e, STREAM_NAMES);
		f->start_line = dec_svarint(&e->streams[STREAM_STARTS]);
		f->file = get_string(e, STREAM_FILES);
	}
}

/*
 * Read one line of a location. The line number is stored as the difference to
 * the previous line number of the same function or, if there is none, to the
 * function's start line.
 */
static void get_line(struct decoder *e, struct dict_ref *functions)
{
	struct dictionary *d = e->d;
	struct dict_guess *g = &e->guess;
	struct pprof_line *l = vec_add(&d->lines);
	int64_t near;

	*l = (struct pprof_line){ .function = get_ref(e, STREAM_FUNCTIONS,
						      functions,
						      d->functions.count) };
	if (e->bad)
		return;
	near = g->met[l->function] ? g->line[l->function] :
				     d->functions.v[l->function].start_line;
	l->line = wrap_add(near, dec_svarint(&e->streams[STREAM_LINES]));
	l->column = dec_svarint(&e->streams[STREAM_COLUMNS]);
	g->line[l->function] = l->line;
	g->met[l->function] = true;
}

/*
 * Read one location. Its address is stored as the difference to the address of
 * the previous location with the same outermost function or, if there is none,
 * of the previous location.
 */
static void get_location(struct decoder *e, struct dict_ref *functions,
			 uint64_t *last)
{
	struct dictionary *d = e->d;
	struct pprof_location *l = vec_add(&d->locations);
	uint32_t outermost = (uint32_t)d->functions.count;
	uint64_t lines;
	uint64_t *near;

	/* 0 means no mapping: subtracting 1 gives PPROF_NONE. */
	l->mapping = get_below(e, STREAM_LOCATIONS, d->mappings.count + 1) - 1;
	lines = dec_count(&e->streams[STREAM_LOCATIONS], UINT32_MAX);
	l->folded = lines & 1;
	l->lines.first = (uint32_t)d->lines.count;
	l->lines.count = (uint32_t)(lines >> 1);
	for (uint32_t i = 0; i < l->lines.count && !is_bad(e); i++)
		get_line(e, functions);
	if (is_bad(e))
		return;
	if (l->lines.count)
		outermost = d->lines.v[d->lines.count - 1].function;
	near = &e->guess.address[outermost];
	l->address = (uint64_t)dec_svarint(&e->streams[STREAM_ADDRESSES]) +
		     (*near ? *near : *last);
	*near = *last = l->address;
}

/*
 * Read the locations in order, since each is stored relative to earlier ones.
 */
static void get_locations(struct decoder *e)
{
	struct dict_ref functions = { 0 };
	uint64_t last = 0;

	while (e->d->locations.count < e->counts.locations && !is_bad(e))
		get_location(e, &functions, &last);
}

/*
 * Read the location of a node. `inner` is the location of the node read before,
 * which this node calls. `*guess` is the location that called `inner` last
 * time, plus 1, or 0 if there is no such location. A stored 0 means that the
 * guess is right. If `*guess` is 0 then, subtracting 1 gives an invalid
 * location, which is refused.
 */
static uint32_t get_frame(struct decoder *e, struct dict_ref *locations,
			  uint32_t inner)
{
	uint64_t v = dec_uvarint(&e->streams[STREAM_FRAMES]);
	uint32_t *guess = &e->guess.parent[inner];
	uint64_t l;

	if (!v) {
		l = (uint64_t)*guess - 1;
	} else {
		v--;
		l = locations->top - (v >> 1 ^ -(v & 1));
	}
	if (l >= e->d->locations.count) {
		e->bad = true;
		return 0;
	}
	*guess = (uint32_t)l + 1;
	if (l >= locations->top)
		locations->top = l + 1;
	return (uint32_t)l;
}

/*
 * Read a key and the nodes that were added for it. Frames are stored from the
 * innermost outwards, but nodes are numbered from the outermost inwards, so the
 * loop runs backwards.
 */
static void get_key(struct decoder *e, struct dict_ref *sets,
		    struct dict_ref *locations)
{
	struct dictionary *d = e->d;
	size_t nodes = d->nodes.count;
	uint32_t inner = (uint32_t)d->locations.count;
	uint32_t set = get_ref(e, STREAM_SETS, sets, d->label_sets.count);
	size_t new = get_below(e, STREAM_NEW, e->counts.nodes - nodes + 1);
	uint32_t back = get_below(e, STREAM_BASES, nodes + 1);
	uint32_t base = back ? (uint32_t)nodes - back : DICT_ROOT;

	if (is_bad(e))
		return;
	vec_reserve(&d->nodes, new);
	d->nodes.count += new;
	for (size_t i = nodes + new; i > nodes; i--) {
		d->nodes.v[i - 1] = (struct dict_node){
			.parent = i - 1 == nodes ? base : (uint32_t)i - 2,
			.location = get_frame(e, locations, inner),
		};
		inner = d->nodes.v[i - 1].location;
	}
	*vec_add(&d->keys) = (struct pprof_sample){
		.stack = new ? (uint32_t)d->nodes.count - 1 : base,
		.labels = set,
	};
}

/*
 * Read the keys, each with the nodes that were added for it. Together, these
 * must be as many nodes as STREAM_COUNTS says.
 */
static void dict_decode_get_keys(struct decoder *e)
{
	struct dict_ref sets = { 0 };
	struct dict_ref locations = { 0 };

	while (e->d->keys.count < e->counts.keys && !is_bad(e))
		get_key(e, &sets, &locations);
	e->bad = e->bad || e->d->nodes.count != e->counts.nodes;
}

/*
 * Compute the depth of each key's stack. Parent nodes have lower numbers than
 * their children, so one pass over the nodes is enough.
 */
static void measure_depths(struct dictionary *d)
{
	uint32_t *depth = mem_zalloc(d->nodes.count, sizeof(*depth));

	for (size_t i = 1; i < d->nodes.count; i++)
		depth[i] = depth[d->nodes.v[i].parent] + 1;
	vec_reserve(&d->depths, d->keys.count + 1);
	for (size_t i = 0; i < d->keys.count; i++)
		d->depths.v[i] = depth[d->keys.v[i].stack];
	d->depths.count = d->keys.count;
	mem_free(depth);
}

/*
 * Decompress all sections. `max` bounds the sum of their lengths, not only each
 * length, so that a small damaged file cannot expand to much memory.
 */
static int get_sections(struct decoder *e, struct bytes stored, struct err *err)
{
	size_t max = DICT_SECTIONS_MAX;
	struct zstd *z = zstd_new();
	struct dec in = dec_init(stored);
	int rc = 0;

	for (size_t i = 0; i < DICT_STREAMS && !rc; i++) {
		/* At least 1, because buf_init(0) means no limit. */
		e->raw[i] = buf_init(max ? max : 1);
		rc = section_get(z, &in, &e->raw[i], err);
		max -= e->raw[i].len;
		e->streams[i] = dec_init(buf_bytes(&e->raw[i]));
	}
	zstd_free(z);
	if (!rc && dec_left(&in))
		rc = err_set(err, ERR_CORRUPT,
			     "unexpected bytes after the table");
	return rc;
}

/* Whether all streams were read to their ends; bytes left over are damage. */
static bool all_read(const struct decoder *e)
{
	for (size_t i = 0; i < DICT_STREAMS; i++) {
		if (dec_left(&e->streams[i]))
			return false;
	}
	return true;
}

/*
 * Read the elements of all kinds. Elements refer only to kinds that are read
 * before, or to earlier elements of their own kind.
 */
static void get_all(struct decoder *e)
{
	get_counts(e);
	e->strings.top = 1;
	if (is_bad(e))
		return;
	dict_guess_init(&e->guess, e->counts.functions, e->counts.locations);
	get_strings(e);
	get_mappings(e);
	get_label_sets(e);
	get_layouts(e);
	get_shapes(e);
	get_functions(e);
	get_locations(e);
	dict_decode_get_keys(e);
	dict_guess_fini(&e->guess);
}

int dict_decode(struct bytes stored, struct dictionary *d, struct err *err)
{
	struct decoder e = { .d = d };
	int rc = get_sections(&e, stored, err);

	if (!rc) {
		get_all(&e);
		if (is_bad(&e) || !all_read(&e))
			rc = err_set(err, ERR_CORRUPT,
				     "the contents of the table are damaged");
		else
			measure_depths(d);
	}
	for (size_t i = 0; i < DICT_STREAMS; i++)
		buf_fini(&e.raw[i]);
	return rc;
}
