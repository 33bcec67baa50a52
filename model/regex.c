/* SPDX-License-Identifier: Apache-2.0 */
#include "model/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/vec.h"

/* Steps of the backtracking matcher before the DFA takes over. */
#define MATCH_LIMIT    100000u
#define SEARCH_LIMIT   200000 /* a name is short, and there are many */
#define HEAP_LIMIT     4096u  /* KiB */
#define REPEAT_MAX     1000
#define GROUP_NAME_MAX 32         /* PCRE2's */
#define DEPTH_MAX      1000       /* of groups, RE2's */
#define DFA_WORK       (64 * KIB) /* ints; a million at the most */
#define DFA_WORK_MAX   MIB

enum regex_kind {
	REGEX_WHOLE,
	REGEX_SEARCH, /* anywhere in the text */
	REGEX_BYTES,  /* the same, and the text is bytes */
};

struct regex {
	char *pattern;
	struct str *literals; /* into pattern */
	size_t literal_count;
	struct str prefix; /* "prefix.*" */
	bool has_prefix;
	bool *gave_up; /* found out while matching, which changes nothing else */
	enum regex_kind kind;
	pcre2_code *code;
	pcre2_match_data *match;
	pcre2_match_context *limits;
};

/* Where the gate stands in a pattern, and what it has copied. */
struct gate {
	struct str in;
	size_t at;
	struct buf out;
	bool in_class;
	bool after_quantifier;
	/*
	 * How often a piece of the pattern is written out by the counted
	 * repetitions in it: of the last piece, and of what stands so far in
	 * each group that is open. RE2 takes 1000 at most.
	 */
	int64_t repeats;
	VEC(int64_t) groups;
	size_t *err_at;
	struct err *err;
};

static int refuse(struct gate *g, const char *why)
{
	if (g->err_at)
		*g->err_at = g->at;
	return err_set(g->err, ERR_INVALID, "regular expression: %s", why);
}

static char peek(const struct gate *g, size_t ahead)
{
	if (g->at + ahead >= g->in.len)
		return 0;
	return g->in.ptr[g->at + ahead];
}

static void copy(struct gate *g, size_t n)
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

	copy(g, end ? (size_t)(end - rest.ptr) + 2 : rest.len);
}

/* What stands before is complete: "|", ")" or the next piece follows. */
static void end_piece(struct gate *g)
{
	int64_t *most = &g->groups.v[g->groups.count - 1];

	*most = g->repeats > *most ? g->repeats : *most;
	g->repeats = 1;
}

/* A quantifier other than a "{" that is a character. */
static bool at_quantifier(const struct gate *g, size_t ahead);

/* An assertion may be repeated in RE2; PCRE2 repeats groups only. */
static void copy_assertion(struct gate *g, size_t n)
{
	bool repeated = at_quantifier(g, n);

	buf_str(&g->out, repeated ? "(?:" : "");
	copy(g, n);
	buf_str(&g->out, repeated ? ")" : "");
}

/* Behind a class in a class, "-" is a character: [\d-z]. */
static void gate_hyphen(struct gate *g)
{
	if (!g->in_class || peek(g, 0) != '-')
		return;
	buf_str(&g->out, "\\-");
	g->at++;
}

/* \123: octal, of two digits at least; \1 would be a back reference. */
static void gate_octal(struct gate *g)
{
	unsigned v = 0;

	g->at++;
	for (int i = 0; i < 3 && peek(g, 0) >= '0' && peek(g, 0) <= '7'; i++)
		v = v * 8 + (unsigned)(g->in.ptr[g->at++] - '0');
	buf_printf(&g->out, "\\x{%x}", v);
}

/* \p{…}, \P{…}, \x{…}: the braces belong to the escape. */
static int gate_braced(struct gate *g)
{
	size_t n = 3;

	while (is_alnum(peek(g, n)) || peek(g, n) == '_' || peek(g, n) == '^')
		n++;
	if (peek(g, n) != '}')
		return refuse(g, "an escape without its closing }");
	copy(g, n + 1);
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
		if (peek(g, 1) != spelled[i].escape)
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
	char c = peek(g, 1);

	if (!c)
		return refuse(g, "trailing backslash");
	if (c == 'Q' && !g->in_class) {
		gate_quoted(g);
		return 0;
	}
	if (gate_spelled(g))
		return 0;
	if (c == 'x' && peek(g, 2) != '{' &&
	    !(is_hex(peek(g, 2)) && is_hex(peek(g, 3))))
		return refuse(g, "\\x is followed by two digits, or by {…}");
	if (c >= '1' && c <= '7' && peek(g, 2) >= '0' && peek(g, 2) <= '7') {
		gate_octal(g);
		return 0;
	}
	if (strchr("pPx", c) && peek(g, 2) == '{') {
		int rc = gate_braced(g);

		if (c != 'x')
			gate_hyphen(g);
		return rc;
	}
	if ((unsigned char)c >= 0x80)
		return refuse(g, "an escape that RE2 does not know");
	if (!g->in_class && strchr("bBAz", c)) {
		copy_assertion(g, 2);
		return 0;
	}
	if (is_alnum(c) &&
	    !strchr(g->in_class ? "aftnrxdDwWsSpP0" : "aftnrxdDwWbBAzpP0", c))
		return refuse(g, "an escape that RE2 does not know");
	copy(g, 2);
	if (strchr("pP", c) && peek(g, 0))
		copy(g, 1); /* \pL */
	if (strchr("dDwWpP", c))
		gate_hyphen(g);
	return 0;
}

/* Behind "(?P<", which is n long: a name of RE2's characters. */
static int gate_name(struct gate *g, size_t n)
{
	size_t first = n;

	while (is_alnum(peek(g, n)) || peek(g, n) == '_')
		n++;
	if (n == first || peek(g, n) != '>')
		return refuse(g,
			      "a name of a group is of letters, digits and _");
	copy(g, n + 1);
	return 0;
}

/* "(": a plain group, or "(?" with flags or a name. */
static int gate_group(struct gate *g)
{
	size_t n = 2;

	if (peek(g, 1) == '*')
		return refuse(g, "verbs (*…) are not supported");
	if (peek(g, 1) != '?') {
		copy(g, 1);
		return 0;
	}
	if (peek(g, 2) == 'P' && peek(g, 3) == '<')
		return gate_name(g, 4);
	if (peek(g, 2) == '<' && peek(g, 3) != '=' && peek(g, 3) != '!')
		return gate_name(g, 3);
	while (peek(g, n) && strchr("imsU-", peek(g, n)))
		n++;
	if ((peek(g, n) != ':' && peek(g, n) != ')') || peek(g, n - 1) == '-')
		return refuse(g, "a group that RE2 does not know");
	copy(g, n);
	return 0;
}

static int open_group(struct gate *g)
{
	int rc = gate_group(g);

	if (!rc && g->groups.count == DEPTH_MAX)
		rc = refuse(g, "groups are nested too deeply");
	if (rc)
		return rc;
	end_piece(g);
	*vec_add(&g->groups) = 1;
	return 0;
}

/* The group is a piece, with the repetitions that are in it. */
static void close_group(struct gate *g)
{
	end_piece(g);
	/* A ")" too many is for PCRE2 to refuse. */
	if (g->groups.count > 1)
		g->repeats = g->groups.v[--g->groups.count];
	copy(g, 1);
}

/* The length of "{n}", "{n,}" or "{n,m}" here; 0 when it is not one. */
static size_t repeat_len(const struct gate *g, int64_t *most)
{
	size_t first = 1; /* digit of the number */
	int64_t v = 0;
	bool comma = false;

	*most = 0;
	for (size_t n = 1;; n++) {
		char c = peek(g, n);

		if (c >= '0' && c <= '9') {
			/* RE2: with a leading zero it is no number. */
			if (n > first && peek(g, first) == '0')
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
	char c = peek(&next, 0);

	return (c && strchr("*+?", c)) ||
	       (c == '{' && repeat_len(&next, &most));
}

static int gate_quantifier(struct gate *g)
{
	size_t n = 1;
	int64_t most = 1;

	if (peek(g, 0) == '{') {
		n = repeat_len(g, &most);
		if (!n) {
			end_piece(g);
			buf_str(&g->out, "\\{");
			g->at++;
			g->after_quantifier = false;
			return 0;
		}
		if (most > REPEAT_MAX)
			return refuse(g, "a repeat count above 1000");
	}
	if (g->after_quantifier)
		return refuse(g, "nested repetition operators");
	g->repeats *= most ? most : 1;
	if (g->repeats > REPEAT_MAX)
		return refuse(g, "nested repeat counts above 1000");
	copy(g, n);
	if (peek(g, 0) == '?')
		copy(g, 1);
	g->after_quantifier = true;
	return 0;
}

static int gate_open_class(struct gate *g)
{
	g->in_class = true;
	copy(g, 1);
	if (peek(g, 0) == '^')
		copy(g, 1);
	if (peek(g, 0) == ']') { /* a first "]" is a character */
		buf_str(&g->out, "\\]");
		g->at++;
	}
	return 0;
}

/* The length of "[:alpha:]" or "[:^alpha:]" here; 0 when it is not one. */
static size_t posix_class_len(const struct gate *g)
{
	size_t n = 2;

	if (peek(g, 0) != '[' || peek(g, 1) != ':')
		return 0;
	n += peek(g, n) == '^';
	while (peek(g, n) >= 'a' && peek(g, n) <= 'z')
		n++;
	return peek(g, n) == ':' && peek(g, n + 1) == ']' ? n + 2 : 0;
}

static int gate_in_class(struct gate *g)
{
	size_t posix = posix_class_len(g);

	if (peek(g, 0) == '\\')
		return gate_escape(g);
	if (posix) {
		copy(g, posix);
		gate_hyphen(g);
		return 0;
	}
	if (peek(g, 0) == '[') {
		buf_str(&g->out, "\\[");
		g->at++;
		return 0;
	}
	if (peek(g, 0) == ']')
		g->in_class = false;
	copy(g, 1);
	return 0;
}

static int gate_one(struct gate *g)
{
	bool quantified = g->after_quantifier;

	if (g->in_class)
		return gate_in_class(g);
	g->after_quantifier = false;
	if (!strchr("*+?{", peek(g, 0)))
		end_piece(g);
	switch (peek(g, 0)) {
	case '\\':
		return gate_escape(g);
	case '(':
		return open_group(g);
	case ')':
		close_group(g);
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
		copy(g, 1);
		return 0;
	}
}

static int gate_run(struct gate *g)
{
	if (g->in.len > REGEX_BYTES_MAX)
		return refuse(g, "longer than 16 KiB");
	if (!str_is_utf8(g->in))
		return refuse(g, "not UTF-8");
	g->repeats = 1;
	*vec_add(&g->groups) = 1;
	while (g->at < g->in.len) {
		int rc = gate_one(g);

		if (rc)
			return rc;
	}
	return g->in_class ? refuse(g, "missing ]") : 0;
}

static bool is_special(char c)
{
	return c && strchr("\\.+*?()|[]{}^$", c);
}

/* Split into literals at "|"; false when anything else is special. */
static bool find_literals(struct regex *r, size_t len)
{
	size_t count = 1;
	struct str rest = { .ptr = r->pattern, .len = len };

	for (size_t i = 0; i < len; i++) {
		if (r->pattern[i] != '|' && is_special(r->pattern[i]))
			return false;
		count += r->pattern[i] == '|';
	}
	r->literals = mem_zalloc(count, sizeof(*r->literals));
	r->literal_count = count;
	for (size_t i = 0; i < count; i++)
		r->literals[i] = str_cut(rest, '|', &rest);
	return true;
}

static bool find_prefix(struct regex *r, size_t len)
{
	if (len < 2 || memcmp(r->pattern + len - 2, ".*", 2) != 0)
		return false;
	for (size_t i = 0; i + 2 < len; i++) {
		if (is_special(r->pattern[i]))
			return false;
	}
	r->prefix = (struct str){ .ptr = r->pattern, .len = len - 2 };
	r->has_prefix = true;
	return true;
}

static int compile(struct regex *r, struct str pattern, size_t *at,
		   struct err *err)
{
	static const uint32_t by_kind[] = {
		[REGEX_WHOLE] = PCRE2_UTF | PCRE2_DOTALL | PCRE2_ANCHORED |
				PCRE2_ENDANCHORED,
		[REGEX_SEARCH] = PCRE2_UTF,
		[REGEX_BYTES] = 0,
	};
	uint32_t options = PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C |
			   by_kind[r->kind];
	PCRE2_UCHAR why[128];
	PCRE2_SIZE offset;
	int number;

	r->code = pcre2_compile((PCRE2_SPTR)pattern.ptr, pattern.len, options,
				&number, &offset, NULL);
	if (!r->code) {
		pcre2_get_error_message(number, why, sizeof(why));
		if (at)
			*at = offset;
		return err_set(err, ERR_INVALID, "regular expression: %s",
			       (char *)why);
	}
	/* Without JIT (systemd's MemoryDenyWriteExecute) it is only slower. */
	(void)pcre2_jit_compile(r->code, PCRE2_JIT_COMPLETE);
	r->match = pcre2_match_data_create_from_pattern(r->code, NULL);
	r->limits = pcre2_match_context_create(NULL);
	if (!r->match || !r->limits)
		abort(); /* out of memory */
	pcre2_set_match_limit(r->limits, r->kind == REGEX_WHOLE ? MATCH_LIMIT :
								  SEARCH_LIMIT);
	pcre2_set_heap_limit(r->limits, HEAP_LIMIT);
	return 0;
}

static int make(struct str pattern, enum regex_kind kind, struct regex **out,
		size_t *at, struct err *err)
{
	struct gate g = { .in = pattern, .err_at = at, .err = err };
	struct regex *r = mem_new(struct regex);
	int rc = gate_run(&g);

	r->kind = kind;
	r->gave_up = mem_zalloc(1, sizeof(bool));
	r->pattern = mem_strndup(pattern);
	if (!rc && !find_literals(r, pattern.len) &&
	    !find_prefix(r, pattern.len))
		rc = compile(r, str_from(buf_bytes(&g.out)), at, err);
	buf_fini(&g.out);
	vec_fini(&g.groups);
	if (rc)
		regex_free(r);
	else
		*out = r;
	return rc;
}

int regex_new(struct str pattern, struct regex **out, size_t *at,
	      struct err *err)
{
	return make(pattern, REGEX_WHOLE, out, at, err);
}

int regex_new_search(struct str pattern, struct regex **out, size_t *at,
		     struct err *err)
{
	return make(pattern, REGEX_SEARCH, out, at, err);
}

int regex_new_bytes(struct str pattern, struct regex **out, size_t *at,
		    struct err *err)
{
	return make(pattern, REGEX_BYTES, out, at, err);
}

void regex_free(struct regex *r)
{
	if (!r)
		return;
	pcre2_match_data_free(r->match);
	pcre2_match_context_free(r->limits);
	pcre2_code_free(r->code);
	mem_free(r->gave_up);
	mem_free(r->literals);
	mem_free(r->pattern);
	mem_free(r);
}

/* Slower, but its time and memory follow from the lengths alone. */
static bool dfa_matches(const struct regex *r, struct str value)
{
	int rc = PCRE2_ERROR_DFA_WSSIZE;

	for (size_t n = DFA_WORK;
	     rc == PCRE2_ERROR_DFA_WSSIZE && n <= (size_t)DFA_WORK_MAX;
	     n *= 4) {
		int *work = mem_alloc(n * sizeof(*work));

		rc = pcre2_dfa_match(r->code, (PCRE2_SPTR)value.ptr, value.len,
				     0, 0, r->match, NULL, work, n);
		mem_free(work);
	}
	return rc >= 0;
}

static bool engine_matches(const struct regex *r, struct str value)
{
	PCRE2_SPTR text = (PCRE2_SPTR)value.ptr;
	int rc = pcre2_match(r->code, text, value.len, 0, 0, r->match,
			     r->limits);

	if (rc >= 0 || rc == PCRE2_ERROR_NOMATCH)
		return rc >= 0;
	if (r->kind == REGEX_WHOLE)
		return dfa_matches(r, value);
	/* From every place in the text the DFA would take hours. */
	*r->gave_up = true;
	return false;
}

static bool contains(struct str s, struct str part)
{
	return !part.len || (s.len && memmem(s.ptr, s.len, part.ptr, part.len));
}

/* With U+FFFD for each byte that is no UTF-8, as Go sees it. */
static bool mended_matches(const struct regex *r, struct str value)
{
	struct buf text = { 0 };
	bool found;

	while (value.len) {
		size_t n = str_utf8_len(value);

		if (n)
			buf_add(&text, value.ptr, n);
		else
			buf_str(&text, "\xef\xbf\xbd");
		value.ptr += n ? n : 1;
		value.len -= n ? n : 1;
	}
	found = engine_matches(r, str_from(buf_bytes(&text)));
	buf_fini(&text);
	return found;
}

bool regex_matches(const struct regex *r, struct str value)
{
	if (!value.ptr)
		value = str_of("");
	if (r->code && r->kind == REGEX_SEARCH && !str_is_utf8(value))
		return mended_matches(r, value);
	if (r->has_prefix)
		return r->kind != REGEX_WHOLE ? contains(value, r->prefix) :
						str_starts(value, r->prefix);
	if (r->code)
		return engine_matches(r, value);
	for (size_t i = 0; i < r->literal_count; i++) {
		if (r->kind != REGEX_WHOLE ? contains(value, r->literals[i]) :
					     str_eq(r->literals[i], value))
			return true;
	}
	return false;
}

static void read_groups(pcre2_match_data *m, int count, struct str value,
			struct str *groups, size_t max)
{
	const PCRE2_SIZE *at = pcre2_get_ovector_pointer(m);

	for (size_t i = 0; i < max; i++) {
		groups[i] = str_of("");
		if ((int)i < count && at[2 * i] != PCRE2_UNSET)
			groups[i] = (struct str){
				value.ptr + at[2 * i],
				at[2 * i + 1] - at[2 * i],
			};
	}
}

int regex_groups(const struct regex *r, struct str value, struct str *groups,
		 size_t max)
{
	int count;

	if (!value.ptr)
		value = str_of("");
	if (!r->code) { /* a literal has no groups */
		if (!regex_matches(r, value))
			return 0;
		for (size_t i = 0; i < max; i++)
			groups[i] = i ? str_of("") : value;
		return 1;
	}
	count = pcre2_match(r->code, (PCRE2_SPTR)value.ptr, value.len, 0, 0,
			    r->match, r->limits);
	if (count == PCRE2_ERROR_NOMATCH)
		return 0;
	if (count < 0)
		return ERR_LIMIT;
	read_groups(r->match, count, value, groups, max);
	return 1;
}

size_t regex_group_count(const struct regex *r)
{
	uint32_t n = 0;

	if (r->code)
		(void)pcre2_pattern_info(r->code, PCRE2_INFO_CAPTURECOUNT, &n);
	return n;
}

size_t regex_group_named(const struct regex *r, struct str name)
{
	char text[GROUP_NAME_MAX + 1];
	int n;

	if (!r->code || name.len > GROUP_NAME_MAX)
		return 0;
	memcpy(text, name.ptr, name.len);
	text[name.len] = 0;
	n = pcre2_substring_number_from_name(r->code, (PCRE2_SPTR)text);
	return n > 0 ? (size_t)n : 0;
}

bool regex_gave_up(const struct regex *r)
{
	return *r->gave_up;
}

bool regex_literal(const struct regex *r, size_t i, struct str *out)
{
	if (i >= r->literal_count)
		return false;
	*out = r->literals[i];
	return true;
}
