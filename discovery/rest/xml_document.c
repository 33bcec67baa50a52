/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/rest/xml_document.h"

#include <expat.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/vec.h"

#define TEXT_KEY "#text"

/*
 * A child element, an attribute or the text of an element: a key with its
 * value.
 */
struct xml_child {
	struct str name;
	struct yaml_node *value;
	size_t number; /* order in the document */
};

/* An element that is not closed yet. */
struct xml_element {
	struct str name;
	size_t first; /* index of its first child in xml_reader.children */
	struct buf text;
};

/* State of one conversion. */
struct xml_reader {
	struct yaml *y;
	XML_Parser parser;
	VEC(struct xml_element) open;
	VEC(struct xml_child) children; /* of all open elements */
	size_t nodes;
};

/* Report an error and stop the parser. Only the first error counts. */
static void xml_stop(struct xml_reader *r, const char *what)
{
	if (!r->y->error_count)
		yaml_error(r->y, NULL, "line %lu: %s",
			   (unsigned long)XML_GetCurrentLineNumber(r->parser),
			   what);
	XML_StopParser(r->parser, XML_FALSE);
}

static struct yaml_node *xml_node_new(struct xml_reader *r, enum yaml_kind kind)
{
	struct yaml_node *n = arena_new(&r->y->arena, struct yaml_node);

	n->kind = kind;
	n->weight = 1;
	if (++r->nodes > YAML_NODES_MAX)
		xml_stop(r, "the document has too many values");
	return n;
}

/* Return a scalar with a copy of a text. */
static struct yaml_node *xml_scalar(struct xml_reader *r, struct str text)
{
	struct yaml_node *n = xml_node_new(r, YAML_SCALAR);

	n->text = arena_str(&r->y->arena, text);
	n->quoted = true; /* so that "null" is a text */
	return n;
}

static void add_child(struct xml_reader *r, struct str name,
		      struct yaml_node *value)
{
	*vec_add(&r->children) =
		(struct xml_child){ name, value, r->children.count };
}

static void XMLCALL on_start(void *ctx, const XML_Char *name,
			     const XML_Char **attributes)
{
	struct xml_reader *r = ctx;
	struct xml_element *e;

	if (r->open.count == YAML_DEPTH_MAX) {
		xml_stop(r, "the document has too many levels");
		return;
	}
	e = vec_add(&r->open);
	*e = (struct xml_element){ .name = arena_str(&r->y->arena,
						     str_of(name)),
				   .first = r->children.count };
	for (; *attributes; attributes += 2) {
		const char *key =
			arena_printf(&r->y->arena, "@%s", attributes[0]);

		add_child(r, str_of(key), xml_scalar(r, str_of(attributes[1])));
	}
}

static void XMLCALL on_text(void *ctx, const XML_Char *text, int len)
{
	struct xml_reader *r = ctx;

	if (r->open.count)
		buf_add(&r->open.v[r->open.count - 1].text, text, (size_t)len);
}

/* Order children by name; children with the same name keep their order. */
static int compare_children(const void *a, const void *b)
{
	const struct xml_child *x = a;
	const struct xml_child *z = b;
	int order = str_cmp(x->name, z->name);

	return order ? order :
		       (x->number > z->number) - (x->number < z->number);
}

/*
 * Add to `map` the first of the `count` children at `c`, and the children after
 * it with the same name. Returns the number of children that were added.
 */
static size_t add_named(struct xml_reader *r, struct yaml_node *map,
			const struct xml_child *c, size_t count)
{
	struct yaml_node *value = c->value;
	size_t same = 1;

	while (same < count && str_eq(c[same].name, c->name))
		same++;
	if (same > 1) {
		value = xml_node_new(r, YAML_LIST);
		value->items =
			arena_array(&r->y->arena, struct yaml_node *, same);
		for (size_t i = 0; i < same; i++)
			value->items[value->count++] = c[i].value;
	}
	map->items[map->count++] = xml_scalar(r, c->name);
	map->items[map->count++] = value;
	return same;
}

/*
 * Make the map of an element from its attributes, its children and perhaps its
 * text, which are in r->children.
 */
static struct yaml_node *make_map(struct xml_reader *r,
				  const struct xml_element *e)
{
	struct yaml_node *map = xml_node_new(r, YAML_MAP);
	struct xml_child *c = r->children.v + e->first;
	size_t count = r->children.count - e->first;

	qsort(c, count, sizeof(*c), compare_children);
	map->items = arena_array(&r->y->arena, struct yaml_node *, 2 * count);
	for (size_t i = 0; i < count;)
		i += add_named(r, map, c + i, count - i);
	return map;
}

/* Return whether a text is only white space, like that between elements. */
static bool is_blank(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (!strchr(" \t\r\n", s.ptr[i]))
			return false;
	}
	return true;
}

static void XMLCALL on_end(void *ctx, const XML_Char *name UNUSED)
{
	struct xml_reader *r = ctx;
	struct xml_element e;
	struct yaml_node *n;
	struct str text;

	if (r->y->error_count)
		return; /* expat may call this function after xml_stop() */
	e = r->open.v[r->open.count - 1];
	text = str_from(buf_bytes(&e.text));
	if (r->children.count == e.first) {
		n = xml_scalar(r, text);
	} else {
		if (!is_blank(text))
			add_child(r, str_of(TEXT_KEY), xml_scalar(r, text));
		n = make_map(r, &e);
	}
	buf_fini(&e.text);
	r->children.count = e.first;
	r->open.count--;
	if (r->open.count)
		add_child(r, e.name, n);
	else
		r->y->root = n;
}

static void XMLCALL on_doctype(void *ctx, const XML_Char *name UNUSED,
			       const XML_Char *system_id UNUSED,
			       const XML_Char *public_id UNUSED,
			       int has_internal_subset UNUSED)
{
	xml_stop(ctx, "document type declarations are not accepted");
}

void xml_parse(struct yaml *y, const char *file, struct bytes text)
{
	struct xml_reader r = { .y = y, .parser = XML_ParserCreate(NULL) };

	yaml_begin(y, file);
	if (!r.parser)
		abort(); /* fatal, as whenever memory is exhausted */
	XML_SetUserData(r.parser, &r);
	XML_SetElementHandler(r.parser, on_start, on_end);
	XML_SetCharacterDataHandler(r.parser, on_text);
	XML_SetStartDoctypeDeclHandler(r.parser, on_doctype);
	if (text.len > YAML_TEXT_MAX)
		yaml_error(y, NULL, "the document is larger than %ld MB",
			   YAML_TEXT_MAX / MIB);
	else if (XML_Parse(r.parser, (const char *)text.ptr, (int)text.len,
			   XML_TRUE) != XML_STATUS_OK)
		xml_stop(&r, XML_ErrorString(XML_GetErrorCode(r.parser)));
	XML_ParserFree(r.parser);
	for (size_t i = 0; i < r.open.count; i++)
		buf_fini(&r.open.v[i].text);
	vec_fini(&r.open);
	vec_fini(&r.children);
	if (y->error_count)
		y->root = NULL;
}
