/* SPDX-License-Identifier: Apache-2.0 */
#include "model/selector.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/buf.h"
#include "model/regex.h"

/* State of one parse: the text, the position in it, and the selector so far. */
struct parser {
	struct str in;
	size_t at; /* offset of the next byte of `in` */
	struct selector out;
	bool named; /* whether the text has set the profile type */
	bool any;   /* whether it may select everything */
	struct err *err;
};

static int fail_at(struct parser *p, size_t at, const char *fmt, ...)
	PRINTF(3, 4);

/*
 * Report a parse error at byte `at`, whose position is written as LINE:COLUMN,
 * in Prometheus' wording.
 */
static int fail_at(struct parser *p, size_t at, const char *fmt, ...)
{
	unsigned line = 1;
	unsigned column = 1;
	char why[256];
	va_list ap;

	for (size_t i = 0; i < at && i < p->in.len; i++) {
		column++;
		if (p->in.ptr[i] == '\n') {
			line++;
			column = 1;
		}
	}
	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	return err_set(p->err, ERR_INVALID, "%u:%u: parse error: %s", line,
		       column, why);
}

/*
 * Return the next byte, or 0 at the end. The text may contain NUL bytes, too:
 * to tell a NUL byte from the end, a caller compares p->at with the length.
 */
static char selector_peek(const struct parser *p)
{
	if (p->at >= p->in.len)
		return 0;
	return p->in.ptr[p->at];
}

/* Skip white space and comments, which begin with "#". */
static void skip_space(struct parser *p)
{
	for (;;) {
		char c = selector_peek(p);

		if (c == '#') {
			while (p->at < p->in.len && selector_peek(p) != '\n')
				p->at++;
		} else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
			p->at++;
		} else {
			return;
		}
	}
}

/*
 * Skip white space, then take the character c. Returns false if another
 * character comes next.
 */
static bool selector_accept(struct parser *p, char c)
{
	skip_space(p);
	if (p->at >= p->in.len || selector_peek(p) != c)
		return false;
	p->at++;
	return true;
}

/*
 * Read an identifier; the result is empty if there is none. Colons are allowed
 * in profile types, but not in label names.
 */
static struct str selector_parse_identifier(struct parser *p, bool colons)
{
	size_t start = p->at;

	for (; p->at < p->in.len; p->at++) {
		char c = selector_peek(p);
		bool alpha = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			     c == '_' || (colons && c == ':');

		if (!alpha && !(p->at > start && c >= '0' && c <= '9'))
			break;
	}
	return (struct str){ .ptr = p->in.ptr + start, .len = p->at - start };
}

/* Read the n digits, octal or hexadecimal, of a numeric escape. */
static int number_escape(struct parser *p, unsigned n, unsigned base,
			 uint32_t *out)
{
	uint32_t v = 0;

	for (unsigned i = 0; i < n; i++, p->at++) {
		char c = selector_peek(p);
		unsigned digit =
			c >= '0' && c <= '9' ? (unsigned)(c - '0') :
			c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 :
			c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10 :
					       99;

		if (digit >= base)
			return fail_at(p, p->at,
				       "invalid escape sequence in a string");
		v = v * base + digit;
	}
	*out = v;
	return 0;
}

/*
 * Read the escape after a backslash. The rules are those of Go's
 * strconv.UnquoteChar: \x and octal escapes are bytes, \u and \U are
 * characters.
 */
static int selector_escape(struct parser *p, char quote, struct buf *out)
{
	static const char names[] = "abfnrtv\\";
	static const char values[] = "\a\b\f\n\r\t\v\\";
	char c = selector_peek(p);
	const char *at = c ? strchr(names, c) : NULL;
	uint32_t r = 0;
	int rc;

	if (at || (c && c == quote)) {
		buf_byte(out, at ? (uint8_t)values[at - names] : (uint8_t)c);
		p->at++;
		return 0;
	}
	if (c >= '0' && c <= '7') {
		rc = number_escape(p, 3, 8, &r);
		if (!rc && r > 255)
			rc = fail_at(p, p->at,
				     "octal escape sequence is above 255");
		if (!rc)
			buf_byte(out, (uint8_t)r);
		return rc;
	}
	p->at++;
	if (c == 'x') {
		rc = number_escape(p, 2, 16, &r);
		if (!rc)
			buf_byte(out, (uint8_t)r);
		return rc;
	}
	if (c != 'u' && c != 'U')
		return fail_at(p, p->at - 1,
			       "unknown escape sequence in a string");
	rc = number_escape(p, c == 'u' ? 4 : 8, 16, &r);
	if (!rc && (r > 0x10ffff || (r >= 0xd800 && r < 0xe000)))
		rc = fail_at(
			p, p->at,
			"escape sequence is an invalid Unicode code point");
	if (!rc)
		buf_utf8_char(out, r);
	return rc;
}

/*
 * Read a string up to its closing quote. Between backquotes there are no
 * escapes, and newlines are allowed.
 */
static int string_body(struct parser *p, char quote, struct buf *out)
{
	size_t start = p->at - 1;

	for (;;) {
		char c = selector_peek(p);
		int rc;

		if (p->at >= p->in.len || (c == '\n' && quote != '`'))
			return fail_at(p, start, "unterminated quoted string");
		p->at++;
		if (c == quote)
			return 0;
		if (c != '\\' || quote == '`') {
			buf_byte(out, (uint8_t)c);
			continue;
		}
		rc = selector_escape(p, quote, out);
		if (rc)
			return rc;
	}
}

/* Return whether a quoted string comes next, after optional white space. */
static bool at_string(struct parser *p)
{
	skip_space(p);
	return selector_peek(p) == '"' || selector_peek(p) == '\'' ||
	       selector_peek(p) == '`';
}

/*
 * Read a quoted string into the selector's arena. \x escapes can produce any
 * bytes, so UTF-8 is checked on the result.
 */
static int selector_get_string(struct parser *p, struct str *out)
{
	struct buf b = { 0 };
	size_t start = p->at;
	char quote = p->in.ptr[p->at++];
	int rc = string_body(p, quote, &b);

	if (!rc && !str_is_utf8(str_from(buf_bytes(&b))))
		rc = fail_at(p, start, "string is not UTF-8");
	if (!rc)
		*out = arena_str(&p->out.arena, str_from(buf_bytes(&b)));
	buf_fini(&b);
	return rc;
}

/*
 * Add a matcher and compile its regex. Errors of the regex are reported at
 * the offset `value_at` in the text.
 */
static int selector_add(struct parser *p, enum matcher_op op, struct str name,
			struct str value, size_t value_at)
{
	struct matcher *m = &p->out.matchers[p->out.count];
	struct err why;

	if (p->out.count == SELECTOR_MATCHERS_MAX)
		return fail_at(p, p->at,
			       "the selector has more than %d matchers",
			       SELECTOR_MATCHERS_MAX);
	*m = (struct matcher){ .op = op, .name = name, .value = value };
	if ((op == MATCH_RE || op == MATCH_NRE) &&
	    regex_new(value, &m->regex, &why))
		return fail_at(p, value_at, "%s", why.msg);
	p->out.count++;
	return 0;
}

/* Add the profile type as a matcher of __name__; it may be given only once. */
static int set_name(struct parser *p, struct str name, size_t at)
{
	if (p->named)
		return fail_at(p, at, "profile type must not be set twice");
	p->named = true;
	return selector_add(p, MATCH_EQ, str_of(LABEL_NAME), name, at);
}

/* Read one of = != =~ !~. */
static int selector_parse_operator(struct parser *p, enum matcher_op *op)
{
	skip_space(p);
	if (selector_accept(p, '=')) {
		*op = selector_peek(p) == '~' ? MATCH_RE : MATCH_EQ;
		p->at += *op == MATCH_RE;
		return 0;
	}
	if (selector_peek(p) == '!' && p->at + 1 < p->in.len) {
		char c = p->in.ptr[p->at + 1];

		if (c == '=' || c == '~') {
			*op = c == '=' ? MATCH_NE : MATCH_NRE;
			p->at += 2;
			return 0;
		}
	}
	return fail_at(p, p->at, "expected one of = != =~ !~");
}

/* Fail at a label value without quotes, and show it with quotes. */
static int selector_refuse_value(struct parser *p, struct str name)
{
	size_t end = p->at;

	while (end < p->in.len && end - p->at < 64 &&
	       !strchr(",} \t\n\r\"'`", p->in.ptr[end]))
		end++;
	return fail_at(p, p->at,
		       "expected a quoted label value, such as %.*s=\"%.*s\"",
		       name.len < 64 ? (int)name.len : 0, name.ptr,
		       (int)(end - p->at), p->in.ptr + p->at);
}

/*
 * Read one element between braces: NAME OP "VALUE", or a quoted profile type
 * alone.
 */
static int selector_parse_matcher(struct parser *p)
{
	bool quoted = at_string(p);
	enum matcher_op op = MATCH_EQ;
	struct str name;
	struct str value;
	size_t at = p->at;
	int rc = 0;

	if (quoted)
		rc = selector_get_string(p, &name);
	else
		name = selector_parse_identifier(p, false);
	if (rc)
		return rc;
	if (!name.len)
		return fail_at(p, at, "expected a label name or }");
	skip_space(p);
	if (quoted && (selector_peek(p) == ',' || selector_peek(p) == '}'))
		return set_name(p, name, at);
	rc = selector_parse_operator(p, &op);
	if (rc)
		return rc;
	if (!at_string(p))
		return selector_refuse_value(p, name);
	at = p->at;
	rc = selector_get_string(p, &value);
	if (rc)
		return rc;
	name = arena_str(&p->out.arena, name);
	/*
	 * heap{__name__="x"} sets the profile type twice: set_name() reports
	 * the error.
	 */
	if (str_is(name, LABEL_NAME) && p->named)
		return set_name(p, value, at);
	return selector_add(p, op, name, value, at);
}

/* Read the matchers after "{" up to "}"; a trailing comma is allowed. */
static int selector_parse_braces(struct parser *p)
{
	while (!selector_accept(p, '}')) {
		int rc = selector_parse_matcher(p);

		if (rc)
			return rc;
		if (selector_accept(p, ','))
			continue;
		if (!selector_accept(p, '}'))
			return fail_at(p, p->at, "expected , or }");
		return 0;
	}
	return 0;
}

/*
 * Refuse a selector whose matchers all accept the empty value: the selector
 * would select series that have none of these labels.
 */
static int selector_check(struct parser *p)
{
	struct str empty = { .ptr = "", .len = 0 };

	for (size_t i = 0; i < p->out.count; i++) {
		if (!matcher_matches(&p->out.matchers[i], empty))
			return 0;
	}
	return fail_at(
		p, 0,
		"at least one matcher must not match the empty value; add one, such as job=~\".+\"");
}

/* Parse [TYPE][{MATCHERS}] and requires that nothing follows. */
static int selector_parse_text(struct parser *p)
{
	struct str name;
	int rc = 0;

	if (p->in.len > SELECTOR_BYTES_MAX)
		return fail_at(p, 0, "selector is longer than 64 KiB");
	skip_space(p);
	name = selector_parse_identifier(p, true);
	if (name.len)
		rc = set_name(p, arena_str(&p->out.arena, name), 0);
	if (!rc && selector_accept(p, '{'))
		rc = selector_parse_braces(p);
	else if (!rc && !name.len)
		rc = fail_at(p, p->at,
			     p->at < p->in.len ?
				     "expected a profile type or {" :
				     "the selector is empty");
	if (rc)
		return rc;
	skip_space(p);
	if (p->at < p->in.len)
		return fail_at(
			p, p->at,
			"unexpected text after the selector; label matchers belong in one pair of braces, such as heap{job=\"app\"}");
	return p->any ? 0 : selector_check(p);
}

/*
 * The array of matchers is in the arena, where it cannot grow. It has room for
 * the maximum number from the start.
 */
static int selector_read(struct parser p, struct selector *out)
{
	int rc;

	p.out.matchers = arena_array(&p.out.arena, struct matcher,
				     SELECTOR_MATCHERS_MAX);
	rc = p.any && !str_trim(p.in).len ? 0 : selector_parse_text(&p);
	if (rc)
		selector_fini(&p.out);
	else
		*out = p.out;
	return rc;
}

int selector_parse(struct str text, struct selector *out, struct err *err)
{
	return selector_read((struct parser){ .in = text, .err = err }, out);
}

int selector_parse_any(struct str text, struct selector *out, struct err *err)
{
	return selector_read(
		(struct parser){ .in = text, .any = true, .err = err }, out);
}

void selector_fini(struct selector *s)
{
	for (size_t i = 0; i < s->count; i++)
		regex_free(s->matchers[i].regex);
	arena_fini(&s->arena);
	*s = (struct selector){ 0 };
}
