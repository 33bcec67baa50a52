/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/tools/tool_call.h"

#include <string.h>

#include "base/printable.h"

/* Unix times below are in seconds: in ms, they would be of 1970 to 1973. */
#define SECONDS_MAX 100000000000

enum {
	/* Of the line of the rows, and of the facts for programs, about. */
	END_BYTES = 350,
	ROOM_MIN = 200, /* for rows, whatever comes before them */
	WARNING_MAX = 250
};

/* Cut the next word off a text. False: there is none. */
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

/* ERR_INVALID: a value is none of the choices. */
static int tool_call_no_choice(const struct tool_arg *a, struct err *err)
{
	struct buf names = { 0 };
	struct str rest = str_of(a->choices);
	struct str word;

	while (tool_call_next_word(&rest, &word))
		buf_printf(&names, "%s%.*s", names.len ? ", " : "",
			   STR_ARG(word));
	err_set(err, ERR_INVALID, "argument \"%s\" must be one of: %s", a->name,
		buf_cstr(&names));
	buf_fini(&names);
	return ERR_INVALID;
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
		return tool_call_no_choice(a, err);
	return 0;
}

/*
 * Return the value of the parameter that an argument sets. Models have times from Unix
 * clocks in seconds, and sample types from other answers, with their units.
 */
static struct str tool_call_value(const struct tool_call *c,
				  const struct tool_arg *a, struct str value)
{
	const char *slash = value.len ? memrchr(value.ptr, '/', value.len) :
					NULL;
	int64_t seconds;

	if (a->is_time && str_to_i64(value, &seconds) &&
	    seconds > -SECONDS_MAX && seconds < SECONDS_MAX)
		return str_of(arena_printf(c->arena, "%lld",
					   (long long)seconds * 1000));
	if (slash && str_is(str_of(a->param), "sample_index"))
		value.len = (size_t)(slash - value.ptr);
	return value;
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
		tool_call_set(c, a->param, tool_call_value(c, a, value->text));
	return rc;
}

int tool_call_read(struct tool_call *c, struct err *err)
{
	const struct yaml_node *n = c->arguments;
	int rc = 0;

	if (n && yaml_is_null(n))
		c->arguments = n = NULL;
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

/* Return how many bytes the answer may have. */
static size_t tool_call_budget(const struct tool_call *c)
{
	size_t tokens = (size_t)tool_call_number(c, "max_tokens");

	return tokens * ROWS_BYTES_IN_TEN_TOKENS / 10;
}

size_t tool_call_room(const struct tool_call *c)
{
	size_t budget = tool_call_budget(c);
	size_t used = c->text->len + END_BYTES;

	return budget > used + ROOM_MIN ? budget - used : ROOM_MIN;
}

void tool_call_warn(struct tool_call *c)
{
	size_t i = 0;

	for (; i < c->warning_count &&
	       c->text->len < tool_call_budget(c) / 2 - WARNING_MAX;
	     i++) {
		buf_str(c->text, "# warning: ");
		tool_rows_name(c->text, str_of(c->warnings[i]), WARNING_MAX);
		buf_byte(c->text, '\n');
	}
	if (i < c->warning_count)
		buf_printf(c->text, "# %zu more warnings\n",
			   c->warning_count - i);
}

void tool_call_end(struct tool_call *c, const struct tool_rows *rows,
		   const char *what, const char *more)
{
	tool_rows_line(rows, what, c->text);
	buf_printf(c->text, "%s\n", more);
	buf_add(c->text, rows->text.ptr, rows->text.len);
	json_key(c->facts, "rowsShown");
	json_int(c->facts, rows->shown);
	json_key(c->facts, "rowsTotal");
	json_int(c->facts, rows->seen);
}

/* Return the argument that sets a parameter; NULL: there is none. */
static const struct tool_arg *tool_call_setter(const struct tool_call *c,
					       struct str param)
{
	for (const struct tool_arg *a = c->args; a->name; a++) {
		if (a->param && str_is(param, a->param))
			return a;
	}
	return NULL;
}

/*
 * If a text begins with the name of a parameter that an argument sets, append the name of
 * the argument. Returns the length of what it replaces; 0: it does not.
 */
static size_t tool_call_rename(const struct tool_call *c, struct str text,
			       struct buf *out)
{
	static const char parameter[] = "parameter \"";
	static const char index[] = "sample_index \"";
	const struct tool_arg *a;
	struct str rest = text;
	struct str name;

	if (str_starts(text, str_of(index))) {
		buf_str(out, "sample_type \"");
		return strlen(index);
	}
	if (!str_starts(text, str_of(parameter)))
		return 0;
	rest.ptr += strlen(parameter);
	rest.len -= strlen(parameter);
	name = str_cut(rest, '"', &rest);
	a = tool_call_setter(c, name);
	if (!a)
		return 0;
	buf_printf(out, "argument \"%s\"", a->name);
	return strlen(parameter) + name.len + 1;
}

/* Return what the model can do about an error of a limit. */
static const char *tool_call_advice(int code)
{
	switch (code) {
	case ERR_TIMEOUT:
	case ERR_LIMIT:
		return "; ask for a shorter time range or for fewer series";
	default:
		return "";
	}
}

const char *tool_call_explain(const struct tool_call *c, const struct err *err)
{
	struct str text = str_of(err->msg);
	struct buf said = { 0 };
	struct buf clean = { 0 };
	const char *out;

	while (text.len) {
		size_t n = tool_call_rename(c, text, &said);

		if (!n)
			buf_byte(&said, (uint8_t)text.ptr[n++]);
		text.ptr += n;
		text.len -= n;
	}
	buf_str(&said, tool_call_advice(err->code));
	printable_add(&clean, str_from(buf_bytes(&said)));
	out = arena_strndup(c->arena, str_from(buf_bytes(&clean)));
	buf_fini(&said);
	buf_fini(&clean);
	return out;
}
