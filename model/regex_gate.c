/* SPDX-License-Identifier: Apache-2.0 */
#include "model/regex_gate.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/vec.h"
#include "model/regex.h"

#define REPEAT_MAX 1000
#define DEPTH_MAX  1000 /* of groups, RE2's */

static int gate_refuse(struct gate *g, const char *why)
{
	if (g->err_at)
		*g->err_at = g->at;
	return err_set(g->err, ERR_INVALID, "regular expression: %s", why);
}

static char gate_peek(const struct gate *g, size_t ahead)
{
	if (g->at + ahead >= g->in.len)
		return 0;
	return g->in.ptr[g->at + ahead];
}

static void gate_copy(struct gate *g, size_t n)
{
	buf_add(&g->out, g->in.ptr + g->at, n);
	g->at += n;
}

static bool is_alnum(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') ||
	       (c >= 'A' && c <= 'F');
}

/* \Q…\E: literal text, passed on as it is. */
static void gate_quoted(struct gate *g)
{
	struct str rest = { .ptr = g->in.ptr + g->at,
			    .len = g->in.len - g->at };
	const char *end = memmem(rest.ptr, rest.len, "\\E", 2);

	gate_copy(g, end ? (size_t)(end - rest.ptr) + 2 : rest.len);
}

/* What stands before is complete: "|", ")" or the next piece follows. */
static void end_piece(struct gate *g)
{
	int64_t *most = &g->groups.v[g->groups.count - 1];

	*most = g->repeats > *most ? g->repeats : *most;
	g->repeats = 1;
}

/* The length of "{n}", "{n,}" or "{n,m}" here; 0 when it is not one. */
static size_t repeat_len(const struct gate *g, int64_t *most)
{
	size_t first = 1; /* digit of the number */
	int64_t v = 0;
	bool comma = false;

	*most = 0;
	for (size_t n = 1;; n++) {
		char c = gate_peek(g, n);

		if (c >= '0' && c <= '9') {
			/* RE2: with a leading zero it is no number. */
			if (n > first && gate_peek(g, first) == '0')
				return 0;
			v = v < 100000 ? v * 10 + (c - '0') : v;
			continue;
		}
		if (n == first && !comma)
			return 0; /* nothing before it */
		*most = v > *most ? v : *most;
		v = 0;
		if (c == '}')
			return n + 1;
		if (c != ',' || comma)
			return 0;
		comma = true;
		first = n + 1;
	}
}

static bool at_quantifier(const struct gate *g, size_t ahead)
{
	struct gate next = { .in = g->in, .at = g->at + ahead };
	int64_t most;
	char c = gate_peek(&next, 0);

	return (c && strchr("*+?", c)) ||
	       (c == '{' && repeat_len(&next, &most));
}

/* An assertion may be repeated in RE2; PCRE2 repeats groups only. */
static void copy_assertion(struct gate *g, size_t n)
{
	bool repeated = at_quantifier(g, n);

	buf_str(&g->out, repeated ? "(?:" : "");
	gate_copy(g, n);
	buf_str(&g->out, repeated ? ")" : "");
}

/* Behind a class in a class, "-" is a character: [\d-z]. */
static void gate_hyphen(struct gate *g)
{
	if (!g->in_class || gate_peek(g, 0) != '-')
		return;
	buf_str(&g->out, "\\-");
	g->at++;
}

/* \123: octal, of two digits at least; \1 would be a back reference. */
static void gate_octal(struct gate *g)
{
	unsigned v = 0;

	g->at++;
	for (int i = 0;
	     i < 3 && gate_peek(g, 0) >= '0' && gate_peek(g, 0) <= '7'; i++)
		v = v * 8 + (unsigned)(g->in.ptr[g->at++] - '0');
	buf_printf(&g->out, "\\x{%x}", v);
}

/* \p{…}, \P{…}, \x{…}: the braces belong to the escape. */
static int gate_braced(struct gate *g)
{
	size_t n = 3;

	while (is_alnum(gate_peek(g, n)) || gate_peek(g, n) == '_' ||
	       gate_peek(g, n) == '^')
		n++;
	if (gate_peek(g, n) != '}')
		return gate_refuse(g, "an escape without its closing }");
	gate_copy(g, n + 1);
	return 0;
}

/*
 * Escapes that PCRE2 understands differently are spelled out: \v is one
 * character in RE2, and \s has no vertical tab.
 */
static bool gate_spelled(struct gate *g)
{
	static const struct {
		char escape;
		const char *alone;
		const char *in_class;
	} spelled[] = {
		{ 'v', "\\x0b", "\\x0b" },
		{ 's', "[\\t\\n\\f\\r ]", "\\t\\n\\f\\r " },
		{ 'S', "[^\\t\\n\\f\\r ]", "\\S\\x0b" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(spelled); i++) {
		if (gate_peek(g, 1) != spelled[i].escape)
			continue;
		buf_str(&g->out,
			g->in_class ? spelled[i].in_class : spelled[i].alone);
		g->at += 2;
		/* \v is no class: a range may begin with it. */
		if (spelled[i].escape != 'v')
			gate_hyphen(g);
		return true;
	}
	return false;
}

static int gate_escape(struct gate *g)
{
	char c = gate_peek(g, 1);

	if (!c)
		return gate_refuse(g, "trailing backslash");
	if (c == 'Q' && !g->in_class) {
		gate_quoted(g);
		return 0;
	}
	if (gate_spelled(g))
		return 0;
	if (c == 'x' && gate_peek(g, 2) != '{' &&
	    !(is_hex(gate_peek(g, 2)) && is_hex(gate_peek(g, 3))))
		return gate_refuse(g,
				   "\\x is followed by two digits, or by {…}");
	if (c >= '1' && c <= '7' && gate_peek(g, 2) >= '0' &&
	    gate_peek(g, 2) <= '7') {
		gate_octal(g);
		return 0;
	}
	if (strchr("pPx", c) && gate_peek(g, 2) == '{') {
		int rc = gate_braced(g);

		if (c != 'x')
			gate_hyphen(g);
		return rc;
	}
	if ((unsigned char)c >= 0x80)
		return gate_refuse(g, "an escape that RE2 does not know");
	if (!g->in_class && strchr("bBAz", c)) {
		copy_assertion(g, 2);
		return 0;
	}
	if (is_alnum(c) &&
	    !strchr(g->in_class ? "aftnrxdDwWsSpP0" : "aftnrxdDwWbBAzpP0", c))
		return gate_refuse(g, "an escape that RE2 does not know");
	gate_copy(g, 2);
	if (strchr("pP", c) && gate_peek(g, 0))
		gate_copy(g, 1); /* \pL */
	if (strchr("dDwWpP", c))
		gate_hyphen(g);
	return 0;
}

/* Behind "(?P<", which is n long: a name of RE2's characters. */
static int gate_name(struct gate *g, size_t n)
{
	size_t first = n;

	while (is_alnum(gate_peek(g, n)) || gate_peek(g, n) == '_')
		n++;
	if (n == first || gate_peek(g, n) != '>')
		return gate_refuse(
			g, "a name of a group is of letters, digits and _");
	gate_copy(g, n + 1);
	return 0;
}

/* "(": a plain group, or "(?" with flags or a name. */
static int gate_group(struct gate *g)
{
	size_t n = 2;

	if (gate_peek(g, 1) == '*')
		return gate_refuse(g, "verbs (*…) are not supported");
	if (gate_peek(g, 1) != '?') {
		gate_copy(g, 1);
		return 0;
	}
	if (gate_peek(g, 2) == 'P' && gate_peek(g, 3) == '<')
		return gate_name(g, 4);
	if (gate_peek(g, 2) == '<' && gate_peek(g, 3) != '=' &&
	    gate_peek(g, 3) != '!')
		return gate_name(g, 3);
	while (gate_peek(g, n) && strchr("imsU-", gate_peek(g, n)))
		n++;
	if ((gate_peek(g, n) != ':' && gate_peek(g, n) != ')') ||
	    gate_peek(g, n - 1) == '-')
		return gate_refuse(g, "a group that RE2 does not know");
	gate_copy(g, n);
	return 0;
}

static int open_group(struct gate *g)
{
	int rc = gate_group(g);

	if (!rc && g->groups.count == DEPTH_MAX)
		rc = gate_refuse(g, "groups are nested too deeply");
	if (rc)
		return rc;
	end_piece(g);
	*vec_add(&g->groups) = 1;
	return 0;
}

/* The group is a piece, with the repetitions that are in it. */
static void gate_close_group(struct gate *g)
{
	end_piece(g);
	/* A ")" too many is for PCRE2 to refuse. */
	if (g->groups.count > 1)
		g->repeats = g->groups.v[--g->groups.count];
	gate_copy(g, 1);
}

static int gate_quantifier(struct gate *g)
{
	size_t n = 1;
	int64_t most = 1;

	if (gate_peek(g, 0) == '{') {
		n = repeat_len(g, &most);
		if (!n) {
			end_piece(g);
			buf_str(&g->out, "\\{");
			g->at++;
			g->after_quantifier = false;
			return 0;
		}
		if (most > REPEAT_MAX)
			return gate_refuse(g, "a repeat count above 1000");
	}
	if (g->after_quantifier)
		return gate_refuse(g, "nested repetition operators");
	g->repeats *= most ? most : 1;
	if (g->repeats > REPEAT_MAX)
		return gate_refuse(g, "nested repeat counts above 1000");
	gate_copy(g, n);
	if (gate_peek(g, 0) == '?')
		gate_copy(g, 1);
	g->after_quantifier = true;
	return 0;
}

static int gate_open_class(struct gate *g)
{
	g->in_class = true;
	gate_copy(g, 1);
	if (gate_peek(g, 0) == '^')
		gate_copy(g, 1);
	if (gate_peek(g, 0) == ']') { /* a first "]" is a character */
		buf_str(&g->out, "\\]");
		g->at++;
	}
	return 0;
}

/* The length of "[:alpha:]" or "[:^alpha:]" here; 0 when it is not one. */
static size_t posix_class_len(const struct gate *g)
{
	size_t n = 2;

	if (gate_peek(g, 0) != '[' || gate_peek(g, 1) != ':')
		return 0;
	n += gate_peek(g, n) == '^';
	while (gate_peek(g, n) >= 'a' && gate_peek(g, n) <= 'z')
		n++;
	return gate_peek(g, n) == ':' && gate_peek(g, n + 1) == ']' ? n + 2 : 0;
}

static int gate_in_class(struct gate *g)
{
	size_t posix = posix_class_len(g);

	if (gate_peek(g, 0) == '\\')
		return gate_escape(g);
	if (posix) {
		gate_copy(g, posix);
		gate_hyphen(g);
		return 0;
	}
	if (gate_peek(g, 0) == '[') {
		buf_str(&g->out, "\\[");
		g->at++;
		return 0;
	}
	if (gate_peek(g, 0) == ']')
		g->in_class = false;
	gate_copy(g, 1);
	return 0;
}

static int gate_one(struct gate *g)
{
	bool quantified = g->after_quantifier;

	if (g->in_class)
		return gate_in_class(g);
	g->after_quantifier = false;
	if (!strchr("*+?{", gate_peek(g, 0)))
		end_piece(g);
	switch (gate_peek(g, 0)) {
	case '\\':
		return gate_escape(g);
	case '(':
		return open_group(g);
	case ')':
		gate_close_group(g);
		return 0;
	case '^':
	case '$':
		copy_assertion(g, 1);
		return 0;
	case '[':
		return gate_open_class(g);
	case '*':
	case '+':
	case '?':
	case '{':
		g->after_quantifier = quantified;
		return gate_quantifier(g);
	default:
		gate_copy(g, 1);
		return 0;
	}
}

int gate_run(struct gate *g)
{
	if (g->in.len > REGEX_BYTES_MAX)
		return gate_refuse(g, "longer than 16 KiB");
	if (!str_is_utf8(g->in))
		return gate_refuse(g, "not UTF-8");
	g->repeats = 1;
	*vec_add(&g->groups) = 1;
	while (g->at < g->in.len) {
		int rc = gate_one(g);

		if (rc)
			return rc;
	}
	return g->in_class ? gate_refuse(g, "missing ]") : 0;
}
