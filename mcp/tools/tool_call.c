/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/tools/tool_call.h"

#include <string.h>

#include "mcp/tools/tool_rows.h"

/* Call fn() for each of the words of a text. */
static bool tool_call_next_word(struct str *rest, struct str *word)
{
	*word = str_cut(*rest, ' ', rest);
	return word->len > 0;
}

/* Write the schema of an argument. */
static void tool_call_arg_schema(const struct tool_arg *a, struct json *j)
{
	struct str rest = str_of(a->choices);
	struct str word;

	json_key(j, a->name);
	json_begin(j, '{');
	json_key(j, "type");
	json_text(j, a->is_number ? "integer" : "string");
	json_key(j, "description");
	json_text(j, a->help);
	if (a->is_number) {
		json_key(j, "default");
		json_int(j, a->usual);
		json_key(j, "minimum");
		json_int(j, a->min);
		json_key(j, "maximum");
		json_int(j, a->max);
	}
	if (a->choices) {
		json_key(j, "enum");
		json_begin(j, '[');
		while (tool_call_next_word(&rest, &word))
			json_str(j, word);
		json_end(j, ']');
	}
	json_end(j, '}');
}

void tool_call_schema(const struct tool_arg *args, struct json *j)
{
	json_begin(j, '{');
	json_key(j, "type");
	json_text(j, "object");
	json_key(j, "properties");
	json_begin(j, '{');
	for (const struct tool_arg *a = args; a->name; a++)
		tool_call_arg_schema(a, j);
	json_end(j, '}');
	json_key(j, "required");
	json_begin(j, '[');
	for (const struct tool_arg *a = args; a->name; a++) {
		if (a->required)
			json_text(j, a->name);
	}
	json_end(j, ']');
	json_key(j, "additionalProperties");
	json_bool(j, false);
	json_end(j, '}');
}

/* Return an argument of the table; NULL: there is none. */
static const struct tool_arg *tool_call_arg(const struct tool_arg *args,
					    struct str name)
{
	for (; args->name; args++) {
		if (str_is(name, args->name))
			return args;
	}
	return NULL;
}

/* ERR_INVALID: the tool has no such argument. */
static int tool_call_unknown(const struct tool_call *c, struct str name,
			     struct err *err)
{
	struct buf names = { 0 };

	for (const struct tool_arg *a = c->args; a->name; a++)
		buf_printf(&names, "%s%s", names.len ? ", " : "", a->name);
	err_set(err, ERR_INVALID,
		"there is no argument \"%.*s\"; the arguments are: %s",
		STR_ARG(str_clip(name, 60)), buf_cstr(&names));
	buf_fini(&names);
	return ERR_INVALID;
}

/* Whether a text is one of the choices of an argument. */
static bool tool_call_is_choice(const struct tool_arg *a, struct str value)
{
	struct str rest = str_of(a->choices);
	struct str word;

	while (tool_call_next_word(&rest, &word)) {
		if (str_eq(word, value))
			return true;
	}
	return !a->choices;
}

/* Check the value of an argument. */
static int tool_call_check(const struct tool_arg *a, const struct yaml_node *v,
			   struct err *err)
{
	int64_t number;

	if (v->kind != YAML_SCALAR)
		return err_set(err, ERR_INVALID, "argument \"%s\" must be a %s",
			       a->name, a->is_number ? "whole number" : "text");
	if (a->is_number && (!str_to_i64(v->text, &number) || number < a->min ||
			     number > a->max))
		return err_set(
			err, ERR_INVALID,
			"argument \"%s\" must be a whole number from %lld to %lld, not \"%.*s\"",
			a->name, (long long)a->min, (long long)a->max,
			STR_ARG(str_clip(v->text, 60)));
	if (!a->is_number && !tool_call_is_choice(a, v->text))
		return err_set(err, ERR_INVALID,
			       "argument \"%s\" must be one of: %s", a->name,
			       a->choices);
	return 0;
}

/* Take an argument of the call. */
static int tool_call_take(struct tool_call *c, struct str name,
			  const struct yaml_node *value, struct err *err)
{
	const struct tool_arg *a = tool_call_arg(c->args, name);
	int rc;

	if (!a)
		return tool_call_unknown(c, name, err);
	if (yaml_is_null(value))
		return 0;
	rc = tool_call_check(a, value, err);
	if (!rc && a->param && value->text.len)
		tool_call_set(c, a->param, value->text);
	return rc;
}

int tool_call_read(struct tool_call *c, struct err *err)
{
	const struct yaml_node *n = c->arguments;
	int rc = 0;

	if (n && n->kind != YAML_MAP)
		return err_set(err, ERR_INVALID,
			       "the arguments must be an object");
	for (size_t i = 0; n && i + 1 < n->count && !rc; i += 2)
		rc = tool_call_take(c, n->items[i]->text, n->items[i + 1], err);
	for (const struct tool_arg *a = c->args; a->name && !rc; a++) {
		if (a->required && !tool_call_text(c, a->name).len)
			rc = err_set(err, ERR_INVALID,
				     "argument \"%s\" is missing: %s", a->name,
				     a->help);
	}
	return rc;
}

struct str tool_call_text(const struct tool_call *c, const char *name)
{
	const struct yaml_node *v =
		c->arguments ? yaml_child(c->arguments, name) : NULL;

	return v && v->kind == YAML_SCALAR && !yaml_is_null(v) ?
		       v->text :
		       (struct str){ .len = 0 };
}

int64_t tool_call_number(const struct tool_call *c, const char *name)
{
	const struct tool_arg *a = tool_call_arg(c->args, str_of(name));
	int64_t number = a->usual;

	/* It was checked; when it is missing, the usual one stays. */
	if (!str_to_i64(tool_call_text(c, name), &number))
		return a->usual;
	return number;
}

void tool_call_set(struct tool_call *c, const char *param, struct str value)
{
	/* There are fewer arguments than parameters may be. */
	(void)params_add(&c->params, c->arena, str_of(param),
			 arena_str(c->arena, value));
}

size_t tool_call_room(const struct tool_call *c)
{
	size_t tokens = (size_t)tool_call_number(c, "max_tokens");

	/* The lines before the rows take some, too. */
	return tokens * ROWS_TEN_TOKENS / 10 - ROWS_HEAD_BYTES;
}

void tool_call_warn(struct tool_call *c)
{
	for (size_t i = 0; i < c->warning_count; i++) {
		buf_str(c->text, "# warning: ");
		tool_rows_name(c->text, str_of(c->warnings[i]), 500);
		buf_byte(c->text, '\n');
	}
}
