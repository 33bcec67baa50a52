/* SPDX-License-Identifier: Apache-2.0 */
#include "base/yaml.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <yaml.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/table.h"
#include "base/units.h"

#define ERRORS_MAX (64 * KIB)

struct anchor {
	const char *name;
	struct yaml_node *node;
	struct anchor *next;
};

/* State of one parse: events in, nodes out. */
struct builder {
	struct yaml *y;
	yaml_parser_t parser;
	struct anchor *anchors;
	bool failed;
};

static void message(struct buf *out, const struct yaml *y, unsigned line,
		    unsigned column, const char *text)
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

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	y->error_count++;
	message(&y->errors, y, at ? at->line : 0, at ? at->column : 0, text);
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
	message(&y->warnings, y, at ? at->line : 0, at ? at->column : 0, text);
}

static struct yaml_node *fail(struct builder *b, yaml_mark_t mark,
			      const char *text)
{
	struct yaml_node at = { .line = (unsigned)mark.line + 1,
				.column = (unsigned)mark.column + 1 };

	if (!b->failed)
		yaml_error(b->y, &at, "%s", text);
	b->failed = true;
	return NULL;
}

static bool next_event(struct builder *b, yaml_event_t *e)
{
	if (yaml_parser_parse(&b->parser, e))
		return true;
	fail(b, b->parser.problem_mark,
	     b->parser.problem ? b->parser.problem : "not YAML");
	return false;
}

static struct yaml_node *node_new(struct builder *b, enum yaml_kind kind,
				  const yaml_event_t *e)
{
	struct yaml_node *n = arena_new(&b->y->arena, struct yaml_node);

	n->kind = kind;
	n->line = (unsigned)e->start_mark.line + 1;
	n->column = (unsigned)e->start_mark.column + 1;
	n->weight = 1;
	return n;
}

static void remember(struct builder *b, const yaml_char_t *name,
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

static struct yaml_node *recall(struct builder *b, const yaml_event_t *e)
{
	const char *name = (const char *)e->data.alias.anchor;

	for (struct anchor *a = b->anchors; a; a = a->next) {
		if (!strcmp(a->name, name))
			return a->node;
	}
	return fail(b, e->start_mark, "alias of an anchor that is not known");
}

static struct yaml_node *build(struct builder *b, yaml_event_t *e,
			       unsigned depth);

/* The items up to the end event, into n. */
static struct yaml_node *build_items(struct builder *b, struct yaml_node *n,
				     yaml_event_type_t end, unsigned depth)
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
		item = more ? build(b, &e, depth) : NULL;
		if (item && map && count % 2 == 0 && item->kind != YAML_SCALAR)
			item = fail(b, e.start_mark,
				    "a key must be a single value");
		if (item) {
			items = mem_grow(items, count, &cap,
					 sizeof(struct yaml_node *));
			items[count++] = item;
			n->weight += item->weight;
		}
		if (n->weight > YAML_NODES_MAX)
			fail(b, e.start_mark, "too many values");
		yaml_event_delete(&e);
	}
	n->items = arena_array(&b->y->arena, struct yaml_node *, count);
	if (count)
		memcpy(n->items, items, count * sizeof(struct yaml_node *));
	n->count = count;
	mem_free(items);
	return b->failed ? NULL : n;
}

static bool same_key(const void *ctx, uint32_t number, const void *key)
{
	const struct yaml_node *map = ctx;

	return str_eq(map->items[number]->text, *(const struct str *)key);
}

static bool is_merge_key(const struct yaml_node *key)
{
	return !key->quoted && str_is(key->text, "<<");
}

/* A map that is written anew because it has merge keys. */
struct merging {
	struct yaml_node *map; /* its items grow up to cap */
	size_t cap;
	struct table seen;
};

static void add_pair(struct merging *m, struct yaml_node *key,
		     struct yaml_node *value)
{
	uint64_t hash = hash64(bytes_of(key->text));

	m->map->items = mem_grow(m->map->items, m->map->count + 1, &m->cap,
				 sizeof(struct yaml_node *));
	table_add(&m->seen, hash, (uint32_t)m->map->count);
	m->map->items[m->map->count++] = key;
	m->map->items[m->map->count++] = value;
}

static bool has_key(const struct merging *m, const struct yaml_node *key)
{
	return table_find(&m->seen, hash64(bytes_of(key->text)), same_key,
			  m->map, &key->text) != TABLE_NONE;
}

static bool merge_from(struct builder *b, struct merging *m,
		       const struct yaml_node *key,
		       const struct yaml_node *from)
{
	yaml_mark_t at = { .line = key->line - 1, .column = key->column - 1 };

	if (from->kind != YAML_MAP) {
		fail(b, at, "<< takes a map, or a list of maps");
		return false;
	}
	for (size_t i = 0; i < from->count; i += 2) {
		/* The map's own keys win, then those of the map merged first. */
		if (!has_key(m, from->items[i]))
			add_pair(m, from->items[i], from->items[i + 1]);
	}
	return true;
}

/*
 * "<<: *anchor" of YAML 1.1: the pairs of another map, or of a list of maps,
 * whose keys the map does not have.
 */
static struct yaml_node *merge(struct builder *b, struct yaml_node *n)
{
	struct yaml_node whole = *n;
	struct merging m = { .map = &whole };
	bool good = true;

	whole.items = NULL;
	whole.count = 0;
	for (size_t i = 0; i < n->count; i += 2) {
		/* Keep duplicates: yaml_unique_keys() reports them. */
		if (!is_merge_key(n->items[i]))
			add_pair(&m, n->items[i], n->items[i + 1]);
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

static bool has_merge_key(const struct yaml_node *map)
{
	for (size_t i = 0; i < map->count; i += 2) {
		if (is_merge_key(map->items[i]))
			return true;
	}
	return false;
}

/* Note at each key that stands in the map before where that was. */
static void mark_duplicates(struct yaml_node *map)
{
	struct table seen = { 0 };

	for (size_t i = 0; i < map->count; i += 2) {
		struct yaml_node *key = map->items[i];
		uint64_t hash = hash64(bytes_of(key->text));
		uint32_t n = table_find(&seen, hash, same_key, map, &key->text);

		if (n == TABLE_NONE)
			table_add(&seen, hash, (uint32_t)i);
		else
			key->first_line = map->items[n]->line;
	}
	table_fini(&seen);
}

static struct yaml_node *build_collection(struct builder *b, yaml_event_t *e,
					  unsigned depth)
{
	bool map = e->type == YAML_MAPPING_START_EVENT;
	struct yaml_node *n = node_new(b, map ? YAML_MAP : YAML_LIST, e);

	if (depth >= YAML_DEPTH_MAX)
		return fail(b, e->start_mark, "nested too deeply");
	n = build_items(b, n,
			map ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT,
			depth + 1);
	if (n && map)
		mark_duplicates(n);
	if (n && map && has_merge_key(n))
		n = merge(b, n);
	/* Known only now, so that no node can hold itself. */
	remember(b,
		 map ? e->data.mapping_start.anchor :
		       e->data.sequence_start.anchor,
		 n);
	return n;
}

static struct yaml_node *build(struct builder *b, yaml_event_t *e,
			       unsigned depth)
{
	struct yaml_node *n;

	switch (e->type) {
	case YAML_SCALAR_EVENT:
		n = node_new(b, YAML_SCALAR, e);
		n->quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
		n->text = arena_str(
			&b->y->arena,
			(struct str){ .ptr = (char *)e->data.scalar.value,
				      .len = e->data.scalar.length });
		remember(b, e->data.scalar.anchor, n);
		return n;
	case YAML_ALIAS_EVENT:
		return recall(b, e);
	case YAML_MAPPING_START_EVENT:
	case YAML_SEQUENCE_START_EVENT:
		return build_collection(b, e, depth);
	default:
		return fail(b, e->start_mark, "a value was expected");
	}
}

static void build_document(struct builder *b)
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
				fail(b, e.start_mark,
				     "only one document is expected");
			break;
		case YAML_STREAM_END_EVENT:
			more = false;
			break;
		default:
			b->y->root = build(b, &e, 0);
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

void yaml_parse(struct yaml *y, const char *file, struct bytes text)
{
	struct builder b = { .y = y };

	yaml_begin(y, file);
	if (text.len > YAML_TEXT_MAX) {
		yaml_error(y, NULL, "larger than %ld MB", YAML_TEXT_MAX / MIB);
		return;
	}
	if (!text.len)
		return; /* nothing is no document, and no error */
	if (!yaml_parser_initialize(&b.parser)) {
		yaml_error(y, NULL, "the YAML parser did not start");
		return;
	}
	yaml_parser_set_input_string(&b.parser, text.ptr, text.len);
	build_document(&b);
	if (b.failed || yaml_is_null(y->root))
		y->root = NULL; /* "null" is as good as nothing */
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

bool yaml_is_null(const struct yaml_node *n)
{
	return !n || (n->kind == YAML_SCALAR && !n->quoted &&
		      (!n->text.len || str_is(n->text, "~") ||
		       str_is(n->text, "null") || str_is(n->text, "Null") ||
		       str_is(n->text, "NULL")));
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

bool yaml_expect(struct yaml *y, const struct yaml_node *n, enum yaml_kind kind,
		 const char *what)
{
	static const char *const names[] = { "a single value", "a list",
					     "a map" };

	if (n->kind == kind)
		return true;
	yaml_error(y, n, "%s must be %s, this is %s", what, names[kind],
		   names[n->kind]);
	return false;
}

static bool scalar(struct yaml *y, const struct yaml_node *n)
{
	return yaml_expect(y, n, YAML_SCALAR, "this");
}

void yaml_text(struct yaml *y, const struct yaml_node *n, void *str_field)
{
	if (!scalar(y, n))
		return;
	if (memchr(n->text.ptr, 0, n->text.len)) {
		yaml_error(y, n, "a NUL character is not allowed");
		return;
	}
	*(struct str *)str_field = yaml_is_null(n) ? str_of("") : n->text;
}

/* The tree is the parser's own: who decodes it sees it as constant. */
static struct yaml_node *own_node(const struct yaml_node *n)
{
	union {
		const struct yaml_node *seen;
		struct yaml_node *own;
	} node = { .seen = n };

	return node.own;
}

void yaml_secret(struct yaml *y, const struct yaml_node *n, void *str_field)
{
	own_node(n)->secret = true;
	yaml_text(y, n, str_field);
}

void yaml_bool(struct yaml *y, const struct yaml_node *n, void *bool_field)
{
	/* YAML 1.1 has many words for them; Prometheus takes these. */
	static const char *const words[2][12] = {
		{ "false", "False", "FALSE", "no", "No", "NO", "off", "Off",
		  "OFF", "n", "N", NULL },
		{ "true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON",
		  "y", "Y", NULL },
	};

	if (!scalar(y, n))
		return;
	for (size_t i = 0; !n->quoted && i < ARRAY_SIZE(words); i++) {
		for (size_t k = 0; words[i][k]; k++) {
			if (!str_is(n->text, words[i][k]))
				continue;
			*(bool *)bool_field = i;
			return;
		}
	}
	yaml_error(y, n, "true or false is expected, not \"%.*s\"",
		   STR_ARG(n->text));
}

/* Digits of a base, all of them, below 2^63. */
static bool read_digits(const char *text, int base, int64_t *v)
{
	char *end;

	if (!isxdigit((unsigned char)*text))
		return false; /* strtoll() would take blanks and a sign */
	errno = 0;
	*v = strtoll(text, &end, base);
	return !*end && !errno;
}

/* 5.0 and 1e3 are whole, too. */
static bool read_whole(const char *text, int64_t *v)
{
	char *end;
	double d;

	if (text[strspn(text, "0123456789.eE+-")])
		return false;
	d = strtod(text, &end);
	if (*end || fabs(d) >= 0x1p63 || trunc(d) != d)
		return false;
	*v = (int64_t)d;
	return true;
}

/* YAML 1.1's whole numbers: 5, 0x10, 010 and 0o10 (octal), 0b1, 1_000. */
static bool read_int(struct str text, int64_t *v)
{
	static const char prefixes[] = "xXoObB";
	static const int bases[] = { 16, 16, 8, 8, 2, 2 };
	char digits[64];
	const char *p = digits;
	const char *prefix;
	bool negative;
	size_t n = 0;

	if (!text.len || text.len >= sizeof(digits) || *text.ptr == '_')
		return false;
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] != '_')
			digits[n++] = text.ptr[i];
	}
	digits[n] = 0;
	negative = *p == '-';
	p += *p == '-' || *p == '+';
	if (*p != '.' && !isdigit((unsigned char)*p))
		return false;
	prefix = *p == '0' && p[1] ? strchr(prefixes, p[1]) : NULL;
	if (prefix) {
		if (!read_digits(p + 2, bases[prefix - prefixes], v))
			return false;
	} else if (!read_digits(p, *p == '0' ? 8 : 10, v) &&
		   !read_whole(p, v)) {
		return false;
	}
	*v = negative ? -*v : *v;
	return true;
}

void yaml_int(struct yaml *y, const struct yaml_node *n, void *int64_field)
{
	int64_t v;

	if (!scalar(y, n))
		return;
	if (n->quoted || !read_int(n->text, &v))
		yaml_error(y, n, "a whole number is expected, not \"%.*s\"",
			   STR_ARG(n->text));
	else
		*(int64_t *)int64_field = v;
}

void yaml_limit(struct yaml *y, const struct yaml_node *n, void *int64_field)
{
	int64_t v = 0;

	yaml_int(y, n, &v);
	if (v < 0)
		yaml_error(y, n, "a limit is at least 0, which is none");
	else
		*(int64_t *)int64_field = v;
}

static void with_unit(struct yaml *y, const struct yaml_node *n, void *field,
		      int (*parse)(struct str, int64_t *, struct err *))
{
	struct err err;
	int64_t v;

	if (!scalar(y, n))
		return;
	if (parse(n->text, &v, &err))
		yaml_error(y, n, "%s", err.msg);
	else
		*(int64_t *)field = v;
}

void yaml_duration(struct yaml *y, const struct yaml_node *n, void *int64_field)
{
	with_unit(y, n, int64_field, duration_parse);
}

void yaml_size(struct yaml *y, const struct yaml_node *n, void *int64_field)
{
	with_unit(y, n, int64_field, size_parse);
}

void yaml_unique_keys(struct yaml *y, const struct yaml_node *map)
{
	for (size_t i = 0; i < map->count; i += 2) {
		const struct yaml_node *key = map->items[i];

		if (key->first_line)
			yaml_error(
				y, key,
				"key \"%.*s\" stands here twice, first on line %u",
				STR_ARG(key->text), key->first_line);
	}
}

static const struct yaml_field *find_field(const struct yaml_field *fields,
					   struct str key)
{
	for (; fields->key; fields++) {
		if (str_is(key, fields->key))
			return fields;
	}
	return NULL;
}

/* It may hold secrets, and nobody will say which. */
static void ignore(struct yaml *y, const struct yaml_node *key,
		   const struct yaml_field *f)
{
	yaml_warn(y, key, "%s is ignored: %s", f->key, f->ignored);
	own_node(key)->ignored = true;
}

void yaml_decode(struct yaml *y, const struct yaml_node *map, const char *what,
		 const struct yaml_field *fields, void *out)
{
	if (!yaml_expect(y, map, YAML_MAP, what))
		return;
	yaml_unique_keys(y, map);
	for (size_t i = 0; i < map->count; i += 2) {
		const struct yaml_node *key = map->items[i];
		const struct yaml_node *value = map->items[i + 1];
		const struct yaml_field *f = find_field(fields, key->text);

		/* A second one is an error already; decoders see one. */
		if (key->first_line)
			continue;
		if (!f)
			yaml_error(y, key, "field %.*s not found in %s",
				   STR_ARG(key->text), what);
		else if (!f->decode)
			ignore(y, key, f);
		else if (!yaml_is_null(value))
			f->decode(y, value, (char *)out + f->offset);
	}
}
