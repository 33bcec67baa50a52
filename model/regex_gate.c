/* SPDX-License-Identifier: Apache-2.0 */
#include "model/regex_gate.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/vec.h"
#include "model/regex.h"

#define REPEAT_MAX 1000 /* RE2's limit on a product of nested {n,m} */
#define DEPTH_MAX  1000 /* RE2's limit on the depth of nested groups */

/* Report an error at the current position and return ERR_INVALID. */
static int gate_refuse(struct gate *g, const char *why)
{
	return err_set(
		g->err, ERR_INVALID,
		"invalid regular expression: %s (at byte %zu of the pattern)",
		why, g->at);
}

/*
 * Return the byte `ahead` positions after the current one, or 0 beyond the end
 * of the pattern.
 */
static char gate_peek(const struct gate *g, size_t ahead)
{
	if (g->at + ahead >= g->in.len)
		return 0;
	return g->in.ptr[g->at + ahead];
}

/* Copy n bytes of the pattern to the output unchanged. */
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

/*
 * \Q…\E is literal text; PCRE2 reads it as RE2 does, so it is copied whole. A
 * missing \E quotes the rest of the pattern.
 */
static void gate_quoted(struct gate *g)
{
	struct str rest = { .ptr = g->in.ptr + g->at,
			    .len = g->in.len - g->at };
	const char *end = memmem(rest.ptr, rest.len, "\\E", 2);

	gate_copy(g, end ? (size_t)(end - rest.ptr) + 2 : rest.len);
}

/*
 * End the current piece of the pattern (an element, such as a character or a
 * group, with its quantifiers), because "|", ")" or another piece follows. The
 * enclosing group keeps the largest product of repeat counts of its pieces.
 */
static void end_piece(struct gate *g)
{
	int64_t *most = &g->groups.v[g->groups.count - 1];

	*most = g->repeats > *most ? g->repeats : *most;
	g->repeats = 1;
}

/*
 * Return the length of a repetition "{n}", "{n,}" or "{n,m}" at the current
 * position and store the larger of its counts in *most. Returns 0 if the text
 * there is no repetition; RE2 then reads "{" as a literal character.
 */
static size_t repeat_len(const struct gate *g, int64_t *most)
{
	size_t first = 1; /* position of the number's first digit */
	int64_t v = 0;
	bool comma = false;

	*most = 0;
	for (size_t n = 1;; n++) {
		char c = gate_peek(g, n);

		if (c >= '0' && c <= '9') {
			/*
			 * In RE2 a number with a leading zero is not a repeat
			 * count.
			 */
			if (n > first && gate_peek(g, first) == '0')
				return 0;
			v = v < 100000 ? v * 10 + (c - '0') : v;
			continue;
		}
		if (n == first && !comma)
			return 0;
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

/*
 * Return whether a quantifier begins `ahead` bytes after the current position.
 */
static bool at_quantifier(const struct gate *g, size_t ahead)
{
	struct gate next = { .in = g->in, .at = g->at + ahead };
	int64_t most;
	char c = gate_peek(&next, 0);

	return (c && strchr("*+?", c)) ||
	       (c == '{' && repeat_len(&next, &most));
}

/*
 * RE2 permits a quantifier after an assertion such as ^ or \b. PCRE2 repeats
 * only groups, so a repeated assertion is wrapped in a group.
 */
static void copy_assertion(struct gate *g, size_t n)
{
	bool repeated = at_quantifier(g, n);

	buf_str(&g->out, repeated ? "(?:" : "");
	gate_copy(g, n);
	buf_str(&g->out, repeated ? ")" : "");
}

/*
 * Escape a hyphen that follows a class such as \d inside of […], as in [\d-z]:
 * for RE2 the hyphen is a character, but PCRE2 might refuse it as part of a
 * range.
 */
static void gate_hyphen(struct gate *g)
{
	if (!g->in_class || gate_peek(g, 0) != '-')
		return;
	buf_str(&g->out, "\\-");
	g->at++;
}

/*
 * In RE2, \1 to \7 followed by an octal digit begins an octal number of up to
 * three digits. PCRE2 could read the text as a back reference, so the character
 * is written as \x{…}.
 */
static void gate_octal(struct gate *g)
{
	unsigned v = 0;

	g->at++;
	for (int i = 0;
	     i < 3 && gate_peek(g, 0) >= '0' && gate_peek(g, 0) <= '7'; i++)
		v = v * 8 + (unsigned)(g->in.ptr[g->at++] - '0');
	buf_printf(&g->out, "\\x{%x}", v);
}

/*
 * Copy \p{…}, \P{…} or \x{…} whole, so that the brace does not count as a
 * quantifier.
 */
static int gate_braced(struct gate *g)
{
	size_t n = 3;

	while (is_alnum(gate_peek(g, n)) || gate_peek(g, n) == '_' ||
	       gate_peek(g, n) == '^')
		n++;
	if (gate_peek(g, n) != '}')
		return gate_refuse(g, "an escape has no closing }");
	gate_copy(g, n + 1);
	return 0;
}

/*
 * Rewrite escapes that PCRE2 understands differently: in RE2, \v is the single
 * character vertical tab, and \s does not include it. Returns false if the
 * current escape is none of these.
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
		/*
		 * \v is one character, not a class, so a range may begin with
		 * it.
		 */
		if (spelled[i].escape != 'v')
			gate_hyphen(g);
		return true;
	}
	return false;
}

/*
 * Handle a backslash, inside and outside of a class […]. Escapes that RE2 does
 * not know are refused; the strings below list the letters that it knows.
 */
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
		return gate_refuse(
			g,
			"\\x must be followed by two hexadecimal digits or by {…}");
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
		return gate_refuse(g, "unknown escape sequence");
	if (!g->in_class && strchr("bBAz", c)) {
		copy_assertion(g, 2);
		return 0;
	}
	if (is_alnum(c) &&
	    !strchr(g->in_class ? "aftnrxdDwWsSpP0" : "aftnrxdDwWbBAzpP0", c))
		return gate_refuse(g, "unknown escape sequence");
	gate_copy(g, 2);
	if (strchr("pP", c) && gate_peek(g, 0))
		gate_copy(g, 1); /* the letter of \pL, a one-letter property */
	if (strchr("dDwWpP", c))
		gate_hyphen(g);
	return 0;
}

/*
 * Check a group name that begins n bytes after the current position: RE2
 * allows letters, digits and underscores only.
 */
static int gate_name(struct gate *g, size_t n)
{
	size_t first = n;

	while (is_alnum(gate_peek(g, n)) || gate_peek(g, n) == '_')
		n++;
	if (n == first || gate_peek(g, n) != '>')
		return gate_refuse(
			g, "invalid group name: use letters, digits and _");
	gate_copy(g, n + 1);
	return 0;
}

/*
 * Handle "(" of a plain group and "(?" with flags or a name. Everything else
 * after "(?", such as look-around and atomic groups, does not exist in RE2 and
 * is refused.
 */
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
		return gate_refuse(
			g,
			"unknown group syntax; look-around, such as (?=…) or (?!…), is not supported");
	gate_copy(g, n);
	return 0;
}

/* Open a group and start to track the repetitions in it. */
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

/*
 * Close a group. Seen from outside, the group is one piece, whose product of
 * repeat counts is the largest product found in the group.
 */
static void gate_close_group(struct gate *g)
{
	end_piece(g);
	/* A ")" without "(" is left for PCRE2 to refuse. */
	if (g->groups.count > 1)
		g->repeats = g->groups.v[--g->groups.count];
	gate_copy(g, 1);
}

/*
 * Handle * + ? and {n,m}. RE2 refuses a quantifier after a quantifier and
 * repeat counts whose product, over nested groups, exceeds 1000.
 */
static int gate_quantifier(struct gate *g)
{
	size_t n = 1;
	int64_t most = 1;

	if (gate_peek(g, 0) == '{') {
		n = repeat_len(g, &most);
		/* A "{" that begins no repetition is a literal character. */
		if (!n) {
			end_piece(g);
			buf_str(&g->out, "\\{");
			g->at++;
			g->after_quantifier = false;
			return 0;
		}
		if (most > REPEAT_MAX)
			return gate_refuse(g, "a repeat count is above 1000");
	}
	if (g->after_quantifier)
		return gate_refuse(
			g,
			"invalid nested repetition: a quantifier such as * follows another quantifier");
	/*
	 * {0} counts as 1: a factor of 0 would make the product 0, and larger
	 * repeat counts around it would escape the limit.
	 */
	g->repeats *= most ? most : 1;
	if (g->repeats > REPEAT_MAX)
		return gate_refuse(
			g, "the product of nested repeat counts is above 1000");
	gate_copy(g, n);
	if (gate_peek(g, 0) == '?')
		gate_copy(g, 1);
	g->after_quantifier = true;
	return 0;
}

/*
 * Begin a class such as [a-z]. A "]" directly after "[" or "[^" is an ordinary
 * character.
 */
static int gate_open_class(struct gate *g)
{
	g->in_class = true;
	gate_copy(g, 1);
	if (gate_peek(g, 0) == '^')
		gate_copy(g, 1);
	if (gate_peek(g, 0) == ']') {
		buf_str(&g->out, "\\]");
		g->at++;
	}
	return 0;
}

/*
 * Return the length of "[:alpha:]" or "[:^alpha:]" at the current position; 0
 * if there is no such class.
 */
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

/*
 * Handle one element of a class. A "[" that begins no POSIX class is escaped,
 * because PCRE2 gives "[" other meanings than RE2.
 */
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

/*
 * Handle the next element of the pattern. Any element but a quantifier ends
 * the piece (an element with its quantifiers) before it.
 */
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
		return err_set(
			g->err, ERR_INVALID,
			"invalid regular expression: it is longer than %d KiB",
			REGEX_BYTES_MAX / 1024);
	if (!str_is_utf8(g->in))
		return err_set(g->err, ERR_INVALID,
			       "invalid regular expression: it is not UTF-8");
	g->repeats = 1;
	*vec_add(&g->groups) = 1;
	while (g->at < g->in.len) {
		int rc = gate_one(g);

		if (rc)
			return rc;
	}
	return g->in_class ? gate_refuse(g, "missing ]") : 0;
}
