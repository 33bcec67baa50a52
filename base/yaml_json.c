/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON is read by jansson and converted to the tree that the YAML parser
 * builds, so that one decoder serves both formats.
 */
#include "base/yaml_json.h"

#include <jansson.h>
#include <stdio.h>

#include "base/yaml.h"

/* State of one conversion. */
struct converter {
	struct yaml *y;
};

/* Create a node without a position: jansson does not keep positions. */
static struct yaml_node *yaml_json_node_new(struct converter *c,
					    enum yaml_kind kind)
{
	struct yaml_node *n = arena_new(&c->y->arena, struct yaml_node);

	n->kind = kind;
	n->weight = 1;
	return n;
}

/*
 * Create a scalar. `quoted` is true when the value was a string in JSON, so
 * that "5" and "null" stay text.
 */
static struct yaml_node *yaml_json_read_scalar(struct converter *c,
					       struct str text, bool quoted)
{
	struct yaml_node *n = yaml_json_node_new(c, YAML_SCALAR);

	n->text = arena_str(&c->y->arena, text);
	n->quoted = quoted;
	return n;
}

/* Return a view of a JSON string. The bytes belong to v, so nodes copy them. */
static struct str string_of(const json_t *v)
{
	return (struct str){ json_string_value(v), json_string_length(v) };
}

/* Convert a number, a boolean or null to a plain scalar, as in YAML. */
static struct yaml_node *yaml_json_read_plain(struct converter *c,
					      const json_t *v)
{
	char text[64] = "null";

	if (json_is_integer(v))
		snprintf(text, sizeof(text), "%lld",
			 (long long)json_integer_value(v));
	else if (json_is_real(v))
		snprintf(text, sizeof(text), "%.17g", json_real_value(v));
	else if (json_is_boolean(v))
		snprintf(text, sizeof(text), "%s",
			 json_is_true(v) ? "true" : "false");
	return yaml_json_read_scalar(c, str_of(text), false);
}

/*
 * Convert a value and everything in it. The recursion is bounded, because
 * yaml_parse_json() has refused documents with more than YAML_DEPTH_MAX levels.
 */
static struct yaml_node *yaml_json_convert(struct converter *c, json_t *v);

/* Convert an array to a list. */
static struct yaml_node *convert_array(struct converter *c, json_t *v)
{
	struct yaml_node *n = yaml_json_node_new(c, YAML_LIST);

	n->count = json_array_size(v);
	n->items = arena_array(&c->y->arena, struct yaml_node *, n->count);
	for (size_t i = 0; i < n->count; i++)
		n->items[i] = yaml_json_convert(c, json_array_get(v, i));
	return n;
}

/*
 * Convert an object to a map. The keys are marked as quoted, so that none of
 * them is a merge key ("<<").
 */
static struct yaml_node *convert_object(struct converter *c, json_t *v)
{
	struct yaml_node *n = yaml_json_node_new(c, YAML_MAP);
	size_t room = 2 * json_object_size(v);
	const char *key;
	json_t *value;

	n->items = arena_array(&c->y->arena, struct yaml_node *, room);
	json_object_foreach(v, key, value)
	{
		n->items[n->count++] =
			yaml_json_read_scalar(c, str_of(key), true);
		n->items[n->count++] = yaml_json_convert(c, value);
	}
	return n;
}

static struct yaml_node *yaml_json_convert(struct converter *c, json_t *v)
{
	if (json_is_object(v))
		return convert_object(c, v);
	if (json_is_array(v))
		return convert_array(c, v);
	if (json_is_string(v))
		return yaml_json_read_scalar(c, string_of(v), true);
	return yaml_json_read_plain(c, v);
}

/* Return how many levels v has, and add the number of its nodes to *nodes. */
static unsigned yaml_json_measure(json_t *v, size_t *nodes)
{
	unsigned deepest = 0;
	const char *key UNUSED;
	json_t *value;
	size_t i;

	(*nodes)++;
	if (json_is_array(v)) {
		json_array_foreach(v, i, value)
		{
			unsigned d = yaml_json_measure(value, nodes);

			deepest = d > deepest ? d : deepest;
		}
	}
	if (json_is_object(v)) {
		json_object_foreach(v, key, value)
		{
			unsigned d = yaml_json_measure(value, nodes);

			(*nodes)++; /* the key becomes a node as well */
			deepest = d > deepest ? d : deepest;
		}
	}
	return deepest + 1;
}

/*
 * Whether the text certainly has more values than YAML_NODES_MAX, judged by the
 * number of opening brackets and commas outside of strings. Called before
 * jansson parses the text, because jansson allocates about a hundred bytes for
 * each value.
 */
static bool has_too_many(struct bytes text)
{
	size_t values = 0;
	bool quoted = false;

	for (size_t i = 0; i < text.len; i++) {
		uint8_t c = text.ptr[i];

		if (quoted && c == '\\')
			i++;
		else if (c == '"')
			quoted = !quoted;
		else if (!quoted)
			values += c == '{' || c == '[' || c == ',';
	}
	return values > YAML_NODES_MAX;
}

/*
 * Add the message of jansson's parser, without the text of the document that it
 * quotes, because that can be a secret: "… near '<text>'".
 */
static void add_syntax_error(struct yaml *y, const struct yaml_node *at,
			     const char *message)
{
	const char *quoted = strstr(message, " near '");

	yaml_error(y, at, "%.*s",
		   quoted ? (int)(quoted - message) : (int)strlen(message),
		   message);
}

/*
 * The limits are checked in the order of their cost: the length of the text,
 * the number of brackets and commas, then the parsed tree.
 */
void yaml_parse_json(struct yaml *y, const char *file, struct bytes text)
{
	struct converter c = { .y = y };
	size_t nodes = 0;
	json_error_t why;
	json_t *root;

	yaml_begin(y, file);
	if (text.len > YAML_TEXT_MAX) {
		yaml_error(y, NULL, "the document is larger than %ld MB",
			   YAML_TEXT_MAX / MIB);
		return;
	}
	if (!text.len)
		return;
	if (has_too_many(text)) {
		yaml_error(y, NULL, YAML_TOO_MANY);
		return;
	}
	root = json_loadb((const char *)text.ptr, text.len,
			  JSON_DECODE_ANY | JSON_ALLOW_NUL, &why);
	if (!root) {
		struct yaml_node at = { .line = (unsigned)why.line,
					.column = (unsigned)why.column };

		add_syntax_error(y, why.line > 0 ? &at : NULL, why.text);
		return;
	}
	if (yaml_json_measure(root, &nodes) > YAML_DEPTH_MAX)
		yaml_error(y, NULL, YAML_TOO_DEEP);
	else if (nodes > YAML_NODES_MAX)
		yaml_error(y, NULL, YAML_TOO_MANY);
	else
		y->root = yaml_json_convert(&c, root);
	json_decref(root);
}
