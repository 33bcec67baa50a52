/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of YAML nodes: texts, numbers, durations, sizes. The public functions
 * are declared in yaml.h.
 */
#include "base/yaml_private.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#include "base/env.h"
#include "base/mem.h"
#include "base/units.h"

/* Whether n is a scalar; if not, adds an error. */
static bool yaml_value_read_scalar(struct yaml *y, const struct yaml_node *n)
{
	return yaml_expect(y, n, YAML_SCALAR, "the value");
}

void yaml_text(struct yaml *y, const struct yaml_node *n, void *str_field)
{
	if (!yaml_value_read_scalar(y, n))
		return;
	/* Texts become C strings (paths, names), which would end at a NUL. */
	if (memchr(n->text.ptr, 0, n->text.len)) {
		yaml_error(y, n, "the value contains a NUL character");
		yaml_own_node(n)->refused = true;
		return;
	}
	*(struct str *)str_field = yaml_is_null(n) ? str_of("") : n->text;
}

/* Append the variable that a reference "${NAME}" names; return its length. */
static size_t add_variable(struct yaml *y, const struct yaml_node *n,
			   const char *reference, struct buf *out)
{
	size_t len = strcspn(reference, "}");
	const char *name = arena_strndup(
		&y->arena, (struct str){ reference + 2, len - 2 });
	const char *value = env_find(name);

	if (value)
		buf_str(out, value);
	else
		yaml_error(
			y, n,
			"the environment variable %s is not set, or is empty",
			name);
	return len + 1;
}

void yaml_env_text(struct yaml *y, const struct yaml_node *n, void *str_field)
{
	struct str text = str_of("");
	struct buf out = { 0 };
	const char *pos;

	yaml_text(y, n, &text);
	for (pos = text.ptr; *pos;) {
		if (pos[0] == '$' && pos[1] == '{' && strchr(pos, '}'))
			pos += add_variable(y, n, pos, &out);
		else
			buf_byte(&out, (uint8_t)*pos++);
	}
	*(struct str *)str_field =
		arena_str(&y->arena, str_from(buf_bytes(&out)));
	buf_fini(&out);
}

void yaml_secret(struct yaml *y, const struct yaml_node *n, void *str_field)
{
	yaml_own_node(n)->secret = true;
	yaml_text(y, n, str_field);
}

void yaml_bool(struct yaml *y, const struct yaml_node *n, void *bool_field)
{
	/* The words for false and true in YAML 1.1 that Prometheus accepts. */
	static const char *const words[2][12] = {
		{ "false", "False", "FALSE", "no", "No", "NO", "off", "Off",
		  "OFF", "n", "N", NULL },
		{ "true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON",
		  "y", "Y", NULL },
	};

	if (!yaml_value_read_scalar(y, n))
		return;
	for (size_t i = 0; !n->quoted && i < ARRAY_SIZE(words); i++) {
		for (size_t k = 0; words[i][k]; k++) {
			if (!str_is(n->text, words[i][k]))
				continue;
			*(bool *)bool_field = i;
			return;
		}
	}
	yaml_error(y, n,
		   "expected true or false (without quotes), not \"%.*s\"",
		   STR_ARG(n->text));
}

/*
 * Parse the whole text as digits in the given base; the number must be below
 * 2^63.
 */
static bool read_digits(const char *text, int base, int64_t *v)
{
	char *end;

	if (!isxdigit((unsigned char)*text))
		/* strtoll() would accept leading spaces and a second sign. */
		return false;
	errno = 0;
	*v = strtoll(text, &end, base);
	return !*end && !errno;
}

/*
 * Parse a number in floating-point notation whose value is whole, such as 5.0
 * or 1e3.
 */
static bool read_whole(const char *text, int64_t *v)
{
	double d;

	if (!str_to_double(str_of(text), &d) || fabs(d) >= 0x1p63 ||
	    trunc(d) != d)
		return false;
	*v = (int64_t)d;
	return true;
}

/*
 * Parse a whole number of YAML 1.1: 5, 0x10, 010 and 0o10 (octal), 0b1, 1_000.
 * Prometheus' parser accepts the same numbers (docs/decisions.md, 103).
 */
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
	/* Underscores may separate digits anywhere but at the start. */
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] != '_')
			digits[n++] = text.ptr[i];
	}
	digits[n] = 0;
	/* The sign comes before the prefix: -0x10. */
	negative = *p == '-';
	p += *p == '-' || *p == '+';
	if (*p != '.' && !isdigit((unsigned char)*p))
		return false;
	/*
	 * Without a prefix, a leading 0 means octal; a text that is not octal,
	 * such as 0.5, is tried in floating-point notation.
	 */
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

	if (!yaml_value_read_scalar(y, n))
		return;
	if (n->quoted || !read_int(n->text, &v))
		yaml_error(
			y, n,
			"expected a whole number (without quotes), not \"%.*s\"",
			STR_ARG(n->text));
	else
		*(int64_t *)int64_field = v;
}

const struct yaml_node *yaml_place(const struct yaml_node *map, const char *key)
{
	const struct yaml_node *value = yaml_child(map, key);

	return value ? value : map;
}

void yaml_limit(struct yaml *y, const struct yaml_node *n, void *int64_field)
{
	int64_t v = 0;

	yaml_int(y, n, &v);
	if (v < 0)
		yaml_error(y, n,
			   "the limit must not be negative (0: no limit)");
	else
		*(int64_t *)int64_field = v;
}

/*
 * Decode a scalar with one of the parsers of base/units.h, whose message
 * becomes the error.
 */
static void with_unit(struct yaml *y, const struct yaml_node *n, void *field,
		      int (*parse)(struct str, int64_t *, struct err *))
{
	struct err err;
	int64_t v;

	if (!yaml_value_read_scalar(y, n))
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

/* The recursion is bounded by YAML_DEPTH_MAX. */
struct yaml_node *yaml_copy(struct yaml *y, const struct yaml_node *n)
{
	struct yaml_node *copy = arena_new(&y->arena, struct yaml_node);

	*copy = *n;
	copy->text = arena_str(&y->arena, n->text);
	copy->items = arena_array(&y->arena, struct yaml_node *, n->count);
	for (size_t i = 0; i < n->count; i++)
		copy->items[i] = yaml_copy(y, n->items[i]);
	return copy;
}
