/* SPDX-License-Identifier: Apache-2.0 */
#include "base/yaml.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "base/table.h"
#include "base/yaml_private.h"

/*
 * Merge keys of YAML 1.1: "<<" includes the pairs of other maps in a map.
 */

/* Only a plain "<<" merges; a quoted one is an ordinary key. */
static bool is_merge_key(const struct yaml_node *key)
{
	return !key->quoted && str_is(key->text, "<<");
}

/* A map under construction, which replaces a map that has merge keys. */
struct merging {
	/* the map being built; `cap` is the capacity of its items */
	struct yaml_node *map;
	size_t cap;
	struct table seen; /* the map's keys, as indexes of its items */
};

/*
 * Append a pair. mem_grow() makes room for one element more than the number it
 * is given. That number counts the key already, so there is room for key and
 * value.
 */
static void yaml_merge_add_pair(struct merging *m, struct yaml_node *key,
				struct yaml_node *value)
{
	uint64_t hash = hash_key(bytes_of(key->text));

	m->map->items = mem_grow(m->map->items, m->map->count + 1, &m->cap,
				 sizeof(struct yaml_node *));
	table_add(&m->seen, hash, (uint32_t)m->map->count);
	m->map->items[m->map->count++] = key;
	m->map->items[m->map->count++] = value;
}

/*
 * Compare keys of a map; a table_same_fn. `ctx` is the map's node, `number`
 * the index of a key in the map's items, `key` a struct str.
 */
static bool yaml_same_key(const void *ctx, uint32_t number, const void *key)
{
	const struct yaml_node *map = ctx;

	return str_eq(map->items[number]->text, *(const struct str *)key);
}

/* Whether the map being built has a key already. */
static bool yaml_merge_has_key(const struct merging *m,
			       const struct yaml_node *key)
{
	return table_find(&m->seen, hash_key(bytes_of(key->text)),
			  yaml_same_key, m->map, &key->text) != TABLE_NONE;
}

/*
 * Add a syntax error at a position, unless the parse has failed already, and
 * mark the parse as failed. Returns NULL, so that callers write `return
 * yaml_fail(...)`.
 *
 * libyaml counts lines and columns from 0. Only the first syntax error is
 * reported: later errors are mostly consequences of the first.
 */
static struct yaml_node *yaml_fail(struct yaml_builder *b, yaml_mark_t mark,
				   const char *text)
{
	struct yaml_node at = { .line = (unsigned)mark.line + 1,
				.column = (unsigned)mark.column + 1 };

	if (!b->failed)
		yaml_error(b->y, &at, "%s", text);
	b->failed = true;
	return NULL;
}

/* Add the pairs of one map to which a merge key refers. */
static bool merge_from(struct yaml_builder *b, struct merging *m,
		       const struct yaml_node *key,
		       const struct yaml_node *from)
{
	yaml_mark_t at = { .line = key->line - 1, .column = key->column - 1 };

	if (from->kind != YAML_MAP) {
		yaml_fail(b, at,
			  "map merge (<<) requires a map or a list of maps");
		return false;
	}
	for (size_t i = 0; i < from->count; i += 2) {
		/*
		 * A pair is added only if its key is new: the map's own keys
		 * take precedence, then the keys of earlier merges.
		 */
		if (!yaml_merge_has_key(m, from->items[i]))
			yaml_merge_add_pair(m, from->items[i],
					    from->items[i + 1]);
	}
	return true;
}

/*
 * Replace each merge key of map n ("<<: *anchor") by the pairs of the map, or
 * of the list of maps, to which the merge key refers; pairs whose key n already
 * has are left out. Returns n. When a merge key refers to anything else, adds a
 * syntax error and returns NULL.
 *
 * The map's own pairs are added first, wherever the merge key is in the map,
 * because they take precedence. The array of items is then copied to the arena,
 * with its final size.
 */
static struct yaml_node *yaml_merge_apply(struct yaml_builder *b,
					  struct yaml_node *n)
{
	struct yaml_node whole = *n;
	struct merging m = { .map = &whole };
	bool good = true;

	whole.items = NULL;
	whole.count = 0;
	for (size_t i = 0; i < n->count; i += 2) {
		/*
		 * Duplicates are kept, so that yaml_unique_keys() reports them.
		 */
		if (!is_merge_key(n->items[i]))
			yaml_merge_add_pair(&m, n->items[i], n->items[i + 1]);
	}
	for (size_t i = 0; i < n->count && good; i += 2) {
		const struct yaml_node *from = n->items[i + 1];

		if (!is_merge_key(n->items[i]))
			continue;
		if (from->kind != YAML_LIST)
			good = merge_from(b, &m, n->items[i], from);
		for (size_t k = 0;
		     good && from->kind == YAML_LIST && k < from->count; k++)
			good = merge_from(b, &m, n->items[i], from->items[k]);
	}
	n->items = arena_array(&b->y->arena, struct yaml_node *, whole.count);
	if (whole.count)
		memcpy(n->items, whole.items,
		       whole.count * sizeof(struct yaml_node *));
	n->count = whole.count;
	mem_free(whole.items);
	table_fini(&m.seen);
	return good ? n : NULL;
}

/* Whether a map has a merge key, so that it needs yaml_merge_apply(). */
static bool yaml_has_merge_key(const struct yaml_node *map)
{
	for (size_t i = 0; i < map->count; i += 2) {
		if (is_merge_key(map->items[i]))
			return true;
	}
	return false;
}

/*
 * Maximum size, in bytes, of the messages that are kept. Further messages are
 * counted but dropped, so that a hostile document cannot fill the memory with
 * messages.
 */
#define ERRORS_MAX (64 * KIB)

/* Append a message with its position, if known. */
static void yaml_add_message(struct buf *out, const struct yaml *y,
			     unsigned line, unsigned column, const char *text)
{
	if (line)
		buf_printf(out, "%s:%u:%u: %s\n", y->file, line, column, text);
	else
		buf_printf(out, "%s: %s\n", y->file, text);
}

void yaml_error(struct yaml *y, const struct yaml_node *at, const char *fmt,
		...)
{
	char text[512];
	va_list ap;

	if (at && at->refused)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	y->error_count++;
	yaml_add_message(&y->errors, y, at ? at->line : 0, at ? at->column : 0,
			 text);
}

void yaml_warn(struct yaml *y, const struct yaml_node *at, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = snprintf(text, sizeof(text), "warning: ");
	vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, ap);
	va_end(ap);
	yaml_add_message(&y->warnings, y, at ? at->line : 0,
			 at ? at->column : 0, text);
}

/*
 * Read the next event of libyaml; its errors are reported as errors of the
 * document. The caller deletes the event.
 */
static bool next_event(struct yaml_builder *b, yaml_event_t *e)
{
	if (yaml_parser_parse(&b->parser, e))
		return true;
	yaml_fail(b, b->parser.problem_mark,
		  b->parser.problem ? b->parser.problem : "invalid YAML");
	return false;
}

/* Create a node at the position of an event. */
static struct yaml_node *yaml_node_new(struct yaml_builder *b,
				       enum yaml_kind kind,
				       const yaml_event_t *e)
{
	struct yaml_node *n = arena_new(&b->y->arena, struct yaml_node);

	n->kind = kind;
	n->line = (unsigned)e->start_mark.line + 1;
	n->column = (unsigned)e->start_mark.column + 1;
	n->weight = 1;
	return n;
}

/*
 * Register a complete node under the name of its anchor; `name` is NULL if the
 * node has no anchor. The latest definition of a name counts, as YAML requires.
 */
static void yaml_remember(struct yaml_builder *b, const yaml_char_t *name,
			  struct yaml_node *node)
{
	struct anchor *a;

	if (!name || !node)
		return;
	a = arena_new(&b->y->arena, struct anchor);
	a->name = arena_strndup(&b->y->arena, str_of((const char *)name));
	a->node = node;
	a->next = b->anchors;
	b->anchors = a;
}

/* Return the node that an alias refers to. The node is shared, not copied. */
static struct yaml_node *yaml_recall(struct yaml_builder *b,
				     const yaml_event_t *e)
{
	const char *name = (const char *)e->data.alias.anchor;

	for (struct anchor *a = b->anchors; a; a = a->next) {
		if (!strcmp(a->name, name))
			return a->node;
	}
	return yaml_fail(b, e->start_mark, "alias of an undefined anchor");
}

static struct yaml_node *yaml_build(struct yaml_builder *b, yaml_event_t *e,
				    unsigned depth);

/*
 * Build the items of n up to the event `end`. The weight of n, which is
 * limited, counts the nodes in n with aliases expanded: a few lines of nested
 * aliases can stand for billions of nodes ("billion laughs").
 */
static struct yaml_node *build_items(struct yaml_builder *b,
				     struct yaml_node *n, yaml_event_type_t end,
				     unsigned depth)
{
	struct yaml_node **items = NULL;
	size_t cap = 0;
	size_t count = 0;
	bool map = n->kind == YAML_MAP;
	bool more = true;

	while (more && !b->failed) {
		struct yaml_node *item;
		yaml_event_t e;

		if (!next_event(b, &e))
			break;
		more = e.type != end;
		item = more ? yaml_build(b, &e, depth) : NULL;
		/*
		 * Keys are compared and shown as text, so keys that are not
		 * scalars are refused.
		 */
		if (item && map && count % 2 == 0 && item->kind != YAML_SCALAR)
			item = yaml_fail(
				b, e.start_mark,
				"a map key must be a scalar: a text that begins with { or [ needs quotes");
		if (item) {
			items = mem_grow(items, count, &cap,
					 sizeof(struct yaml_node *));
			items[count++] = item;
			n->weight += item->weight;
		}
		if (n->weight > YAML_NODES_MAX)
			yaml_fail(b, e.start_mark, YAML_TOO_MANY);
		yaml_event_delete(&e);
	}
	n->items = arena_array(&b->y->arena, struct yaml_node *, count);
	if (count)
		memcpy(n->items, items, count * sizeof(struct yaml_node *));
	n->count = count;
	mem_free(items);
	return b->failed ? NULL : n;
}

/*
 * Record at each duplicate key the line of its first occurrence. Duplicates are
 * not reported here, but by yaml_unique_keys() for the maps in which they are
 * errors.
 */
static void mark_duplicates(struct yaml_node *map)
{
	struct table seen = { 0 };

	for (size_t i = 0; i < map->count; i += 2) {
		struct yaml_node *key = map->items[i];
		uint64_t hash = hash_key(bytes_of(key->text));
		uint32_t n =
			table_find(&seen, hash, yaml_same_key, map, &key->text);

		if (n == TABLE_NONE)
			table_add(&seen, hash, (uint32_t)i);
		else
			key->first_line = map->items[n]->line;
	}
	table_fini(&seen);
}

/* Build a list or a map, which begins with event e. */
static struct yaml_node *build_collection(struct yaml_builder *b,
					  yaml_event_t *e, unsigned depth)
{
	bool map = e->type == YAML_MAPPING_START_EVENT;
	struct yaml_node *n = yaml_node_new(b, map ? YAML_MAP : YAML_LIST, e);

	if (depth >= YAML_DEPTH_MAX)
		return yaml_fail(b, e->start_mark, YAML_TOO_DEEP);
	n = build_items(b, n,
			map ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT,
			depth + 1);
	if (n && map)
		mark_duplicates(n);
	if (n && map && yaml_has_merge_key(n))
		n = yaml_merge_apply(b, n);
	/*
	 * The anchor is registered only when the collection is complete, so
	 * that no node can contain itself.
	 */
	yaml_remember(b,
		      map ? e->data.mapping_start.anchor :
			    e->data.sequence_start.anchor,
		      n);
	return n;
}

/*
 * Build the node that begins with event e, and everything below it. The
 * recursion is bounded by YAML_DEPTH_MAX.
 */
static struct yaml_node *yaml_build(struct yaml_builder *b, yaml_event_t *e,
				    unsigned depth)
{
	struct yaml_node *n;

	switch (e->type) {
	case YAML_SCALAR_EVENT:
		n = yaml_node_new(b, YAML_SCALAR, e);
		n->quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
		n->text = arena_str(
			&b->y->arena,
			(struct str){ .ptr = (char *)e->data.scalar.value,
				      .len = e->data.scalar.length });
		yaml_remember(b, e->data.scalar.anchor, n);
		return n;
	case YAML_ALIAS_EVENT:
		return yaml_recall(b, e);
	case YAML_MAPPING_START_EVENT:
	case YAML_SEQUENCE_START_EVENT:
		return build_collection(b, e, depth);
	default:
		return yaml_fail(b, e->start_mark, "expected a value");
	}
}

/* Build the tree of the only document in the stream. */
static void build_document(struct yaml_builder *b)
{
	bool more = true;

	while (more && !b->failed) {
		yaml_event_t e;

		if (!next_event(b, &e))
			return;
		switch (e.type) {
		case YAML_STREAM_START_EVENT:
		case YAML_DOCUMENT_END_EVENT:
			break;
		case YAML_DOCUMENT_START_EVENT:
			if (b->y->root)
				yaml_fail(b, e.start_mark,
					  "expected a single YAML document");
			break;
		case YAML_STREAM_END_EVENT:
			more = false;
			break;
		default:
			b->y->root = yaml_build(b, &e, 0);
			break;
		}
		yaml_event_delete(&e);
	}
}

void yaml_begin(struct yaml *y, const char *file)
{
	*y = (struct yaml){ .file = file,
			    .errors = buf_init(ERRORS_MAX),
			    .warnings = buf_init(ERRORS_MAX) };
}

/*
 * An empty text is an empty document, and so is a text whose only node is null.
 */
void yaml_parse(struct yaml *y, const char *file, struct bytes text)
{
	struct yaml_builder b = { .y = y };

	yaml_begin(y, file);
	if (text.len > YAML_TEXT_MAX) {
		yaml_error(y, NULL, "the document is larger than %ld MB",
			   YAML_TEXT_MAX / MIB);
		return;
	}
	if (!text.len)
		return; /* an empty document is not an error */
	if (!yaml_parser_initialize(&b.parser)) {
		yaml_error(y, NULL, "cannot initialize the YAML parser");
		return;
	}
	yaml_parser_set_input_string(&b.parser, text.ptr, text.len);
	build_document(&b);
	if (b.failed || yaml_is_null(y->root))
		y->root = NULL;
	yaml_parser_delete(&b.parser);
}

void yaml_fini(struct yaml *y)
{
	arena_fini(&y->arena);
	buf_fini(&y->errors);
	buf_fini(&y->warnings);
}

struct str yaml_first_error(const struct yaml *y)
{
	struct str rest = str_from(buf_bytes(&y->errors));

	return str_cut(rest, '\n', &rest);
}

int yaml_check(const struct yaml *y, struct err *err)
{
	struct str first = yaml_first_error(y);

	if (first.len)
		return err_set(err, ERR_INVALID, "%.*s", STR_ARG(first));
	if (!y->root)
		return err_set(err, ERR_INVALID, "%s is empty", y->file);
	return 0;
}

struct str yaml_path(struct yaml *y, struct str path)
{
	const char *slash = strrchr(y->file, '/');

	if (!path.len || *path.ptr == '/' || !slash)
		return path;
	return str_of(arena_printf(&y->arena, "%.*s/%.*s",
				   (int)(slash - y->file), y->file,
				   STR_ARG(path)));
}

const struct yaml_node *yaml_child(const struct yaml_node *map, const char *key)
{
	if (map->kind != YAML_MAP)
		return NULL;
	for (size_t i = 0; i < map->count; i += 2) {
		if (str_is(map->items[i]->text, key))
			return map->items[i + 1];
	}
	return NULL;
}

/* The names of kinds, for messages, are in the order of enum yaml_kind. */
bool yaml_expect(struct yaml *y, const struct yaml_node *n, enum yaml_kind kind,
		 const char *what)
{
	static const char *const names[] = { "a scalar", "a list", "a map" };

	if (n->kind == kind)
		return true;
	yaml_error(y, n, "%s must be %s, not %s", what, names[kind],
		   names[n->kind]);
	yaml_own_node(n)->refused = true;
	return false;
}

void yaml_unique_keys(struct yaml *y, const struct yaml_node *map)
{
	for (size_t i = 0; i < map->count; i += 2) {
		const struct yaml_node *key = map->items[i];

		if (key->first_line)
			yaml_error(
				y, key,
				"mapping key \"%.*s\" already defined at line %u",
				STR_ARG(key->text), key->first_line);
	}
}

/* Report a key that is not in a table, with the key that was probably meant. */
static void yaml_refuse_key(struct yaml *y, const struct yaml_node *key,
			    const struct yaml_field *fields, const char *what)
{
	struct suggestion s = { 0 };

	for (; fields->key; fields++)
		suggest_nearest(&s, key->text, fields->key);
	yaml_error(y, key, "field %.*s not found in %s%s%s%s",
		   STR_ARG(key->text), what, s.best ? ": did you mean " : "",
		   s.best ? s.best : "", s.best ? "?" : "");
}

/* Return the entry for a key in a table of fields, or NULL. */
static const struct yaml_field *find_field(const struct yaml_field *fields,
					   struct str key)
{
	for (; fields->key; fields++) {
		if (str_is(key, fields->key))
			return fields;
	}
	return NULL;
}

/*
 * Warn about a key that is accepted but not decoded. Its value is hidden by
 * yaml_dump(), because it may contain secrets, which only a decoder could mark
 * (docs/decisions.md, 77).
 */
static void yaml_ignore(struct yaml *y, const struct yaml_node *key,
			const struct yaml_field *f)
{
	yaml_warn(y, key, "%s is ignored: %s", f->key, f->ignored);
	yaml_own_node(key)->ignored = true;
}

void yaml_decode(struct yaml *y, const struct yaml_node *map, const char *what,
		 const struct yaml_field *fields, void *out)
{
	yaml_decode_open(y, map, what, fields, NULL, out);
}

void yaml_decode_open(struct yaml *y, const struct yaml_node *map,
		      const char *what, const struct yaml_field *fields,
		      yaml_other_fn other, void *out)
{
	if (!yaml_expect(y, map, YAML_MAP, what))
		return;
	yaml_unique_keys(y, map);
	for (size_t i = 0; i < map->count; i += 2) {
		const struct yaml_node *key = map->items[i];
		const struct yaml_node *value = map->items[i + 1];
		const struct yaml_field *f = find_field(fields, key->text);

		/*
		 * Duplicates were reported above; only the first occurrence of
		 * a key is decoded.
		 */
		if (key->first_line ||
		    (!f && other && other(y, key, value, out)))
			continue;
		if (!f)
			yaml_refuse_key(y, key, fields, what);
		else if (!f->decode)
			yaml_ignore(y, key, f);
		else if (!yaml_is_null(value))
			f->decode(y, value, (char *)out + f->offset);
	}
}

/*
 * The union converts a pointer to const into a pointer to non-const without a
 * cast.
 */
struct yaml_node *yaml_own_node(const struct yaml_node *n)
{
	union {
		const struct yaml_node *seen;
		struct yaml_node *own;
	} node = { .seen = n };

	return node.own;
}

/* A quoted scalar is text, not null, whatever it contains. */
bool yaml_is_null(const struct yaml_node *n)
{
	return !n || (n->kind == YAML_SCALAR && !n->quoted &&
		      (!n->text.len || str_is(n->text, "~") ||
		       str_is(n->text, "null") || str_is(n->text, "Null") ||
		       str_is(n->text, "NULL")));
}
