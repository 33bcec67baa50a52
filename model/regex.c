/* SPDX-License-Identifier: Apache-2.0 */
#include "model/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/vec.h"
#include "model/regex_gate.h"

/*
 * Number of backtracking steps after which a match of a whole value is tried
 * again with PCRE2's DFA matcher, which does not backtrack. One step may scan
 * the whole value (as for ".*"), so that long values get fewer steps: no more
 * than MATCH_COST divided by their length, and at least 1.
 */
#define MATCH_LIMIT 100000u
#define MATCH_COST  30000000u

/*
 * Number of backtracking steps after which a search gives up. Searched texts
 * (function names, tags) are short, but each needs a bound, because a profile
 * has many of them.
 */
#define SEARCH_LIMIT   200000
#define HEAP_LIMIT     4096u /* largest memory of one match, in KiB */
#define GROUP_NAME_MAX 32    /* longest group name in PCRE2, in bytes */
/*
 * The DFA matcher holds up to one state for each 6 ints of its workspace, and
 * for each character of the value compares its states in pairs. So the size of
 * the workspace bounds its time, too: a workspace is tried only if the number
 * of comparisons cannot exceed DFA_COST, which takes some tenths of a second.
 */
#define DFA_WORK      512 /* size of the first workspace, in ints */
#define DFA_STATE_LEN 6   /* ints of the workspace for each state */
#define DFA_COST      ((size_t)256 * MIB)

/* How a regex is applied to a text. */
enum regex_kind {
	REGEX_WHOLE,  /* the whole text must match */
	REGEX_SEARCH, /* any part of the text may match */
	REGEX_BYTES,  /* as REGEX_SEARCH, but a byte is a character */
};

/*
 * A compiled pattern. Exactly one of `literals`, `prefix` and `code` is in use.
 */
struct regex {
	char *pattern;
	/* literals of a pattern such as a|b|c; they point into `pattern` */
	struct str *literals;
	size_t literal_count;
	/* text before ".*" in a pattern such as abc.*; points into `pattern` */
	struct str prefix;
	bool has_prefix;
	/*
	 * whether a match ever exceeded its limits; allocated separately, so
	 * that functions that match can take a const regex
	 */
	bool *gave_up;
	enum regex_kind kind;
	pcre2_code *code;
	pcre2_match_data *match;
	pcre2_match_context *limits;
};

/* Return whether a character has a meaning of its own in a pattern. */
static bool is_special(char c)
{
	return c && strchr("\\.+*?()|[]{}^$", c);
}

/* Compare two literals, for qsort() and bsearch(). */
static int regex_by_text(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/*
 * Sort the literals, drop duplicates, and return the number of those left.
 * An index finds the series of each literal, so that the memory for a pattern
 * such as a|a|a would otherwise be a multiple of that for all series.
 */
static size_t regex_distinct(struct str *v, size_t count)
{
	size_t kept = 0;

	qsort(v, count, sizeof(*v), regex_by_text);
	for (size_t i = 0; i < count; i++) {
		if (!kept || !str_eq(v[i], v[kept - 1]))
			v[kept++] = v[i];
	}
	return kept;
}

/*
 * Split a pattern such as a|b|c into its literals; return false if the
 * pattern contains any other special character.
 */
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
	for (size_t i = 0; i < count; i++)
		r->literals[i] = str_cut(rest, '|', &rest);
	r->literal_count = regex_distinct(r->literals, count);
	return true;
}

/*
 * Recognise a pattern such as abc.* (literal text, then ".*"), for which it is
 * enough to compare prefixes.
 */
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

/*
 * Compile, with PCRE2, a pattern that the gate has rewritten. The options give
 * RE2's meaning: "$" matches only at the end of the text, and "." matches a
 * newline in a whole-value match (Prometheus) but not in a search (Go). PCRE2's
 * mode for invalid UTF-8 is off, see docs/decisions.md, 13.
 */
static int regex_compile(struct regex *r, struct str pattern, struct err *err)
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
		/* The offset means something if the gate rewrote nothing. */
		if (!str_is(pattern, r->pattern))
			return err_set(err, ERR_INVALID,
				       "invalid regular expression: %s",
				       (char *)why);
		return err_set(
			err, ERR_INVALID,
			"invalid regular expression: %s (at byte %zu of the pattern)",
			(char *)why, (size_t)offset);
	}
	/*
	 * JIT is refused under systemd's MemoryDenyWriteExecute; matching then
	 * works without it, only slower, so the result is ignored.
	 */
	(void)pcre2_jit_compile(r->code, PCRE2_JIT_COMPLETE);
	r->match = pcre2_match_data_create_from_pattern(r->code, NULL);
	r->limits = pcre2_match_context_create(NULL);
	if (!r->match || !r->limits)
		abort(); /* out of memory */
	pcre2_set_match_limit(r->limits, SEARCH_LIMIT);
	pcre2_set_heap_limit(r->limits, HEAP_LIMIT);
	return 0;
}

/*
 * Check every pattern with the gate, then picks the cheapest way to match it.
 * PCRE2 compiles only patterns that need more than comparing literals or a
 * prefix.
 */
static int regex_make(struct str pattern, enum regex_kind kind,
		      struct regex **out, struct err *err)
{
	struct gate g = { .in = pattern, .err = err };
	struct regex *r = mem_new(struct regex);
	int rc = gate_run(&g);

	r->kind = kind;
	r->gave_up = mem_zalloc(1, sizeof(bool));
	r->pattern = mem_strndup(pattern);
	if (!rc && !find_literals(r, pattern.len) &&
	    !find_prefix(r, pattern.len))
		rc = regex_compile(r, str_from(buf_bytes(&g.out)), err);
	buf_fini(&g.out);
	vec_fini(&g.groups);
	if (rc)
		regex_free(r);
	else
		*out = r;
	return rc;
}

int regex_new(struct str pattern, struct regex **out, struct err *err)
{
	return regex_make(pattern, REGEX_WHOLE, out, err);
}

int regex_new_search(struct str pattern, struct regex **out, struct err *err)
{
	return regex_make(pattern, REGEX_SEARCH, out, err);
}

int regex_new_bytes(struct str pattern, struct regex **out, struct err *err)
{
	return regex_make(pattern, REGEX_BYTES, out, err);
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

/* Return whether the DFA matcher may use a workspace of `n` ints. */
static bool dfa_affords(size_t n, size_t len)
{
	size_t states = n / DFA_STATE_LEN;

	return len * states * states / 2 <= DFA_COST;
}

/*
 * Match with PCRE2's DFA matcher, which does not backtrack. It is slower, but
 * its time and memory depend on the sizes of value and workspace alone. The
 * workspace grows on demand. Returns PCRE2's result; a negative one other than
 * PCRE2_ERROR_NOMATCH if the match would take too long.
 */
static int dfa_match(const struct regex *r, struct str value)
{
	int rc = PCRE2_ERROR_DFA_WSSIZE;

	for (size_t n = DFA_WORK;
	     rc == PCRE2_ERROR_DFA_WSSIZE && dfa_affords(n, value.len);
	     n *= 2) {
		int *work = mem_alloc(n * sizeof(*work));

		rc = pcre2_dfa_match(r->code, (PCRE2_SPTR)value.ptr, value.len,
				     0, 0, r->match, NULL, work, n);
		mem_free(work);
	}
	/*
	 * This matcher ignores PCRE2_ENDANCHORED (seen in 10.42). It reports
	 * the longest match first.
	 */
	if (rc >= 0 && pcre2_get_ovector_pointer(r->match)[1] != value.len)
		rc = PCRE2_ERROR_NOMATCH;
	return rc;
}

/*
 * Match with PCRE2's backtracking matcher, within the step limit. The limit
 * of a search is constant, see regex_compile().
 */
static int backtracking_match(const struct regex *r, struct str value)
{
	if (r->kind == REGEX_WHOLE) {
		size_t most = MATCH_COST / (value.len + 1) + 1;

		pcre2_set_match_limit(r->limits, most < MATCH_LIMIT ?
							 (uint32_t)most :
							 MATCH_LIMIT);
	}
	return pcre2_match(r->code, (PCRE2_SPTR)value.ptr, value.len, 0, 0,
			   r->match, r->limits);
}

/* Match with PCRE2, within the limits of both matchers. */
static bool engine_matches(const struct regex *r, struct str value)
{
	int rc = backtracking_match(r, value);

	/*
	 * The DFA matcher is no fallback for searches: it would start at every
	 * position of the text, which can take hours.
	 */
	if (rc < 0 && rc != PCRE2_ERROR_NOMATCH && r->kind == REGEX_WHOLE)
		rc = dfa_match(r, value);
	if (rc < 0 && rc != PCRE2_ERROR_NOMATCH)
		*r->gave_up = true;
	return rc >= 0;
}

/* Return whether s contains `part`; the empty part is in every text. */
static bool regex_contains(struct str s, struct str part)
{
	return !part.len || (s.len && memmem(s.ptr, s.len, part.ptr, part.len));
}

/*
 * Search a copy of `value` in which U+FFFD replaces each byte that is not
 * UTF-8. Go's regexp does the same, and PCRE2 must not see invalid UTF-8.
 */
static bool mended_matches(const struct regex *r, struct str value)
{
	struct buf text = { 0 };
	bool found;

	buf_utf8(&text, value, "\xef\xbf\xbd");
	found = engine_matches(r, str_from(buf_bytes(&text)));
	buf_fini(&text);
	return found;
}

/*
 * Whether the value is one of the literals or, for a search, contains one. A
 * whole value is looked up, because a selector may list thousands of literals
 * and is tried on every value of a label.
 */
static bool matches_literal(const struct regex *r, struct str value)
{
	if (r->kind == REGEX_WHOLE)
		return bsearch(&value, r->literals, r->literal_count,
			       sizeof(*r->literals), regex_by_text);
	for (size_t i = 0; i < r->literal_count; i++) {
		if (regex_contains(value, r->literals[i]))
			return true;
	}
	return false;
}

bool regex_matches(const struct regex *r, struct str value)
{
	if (!value.ptr)
		value = str_of("");
	/*
	 * Label values are known to be UTF-8; only texts of searches need the
	 * check.
	 */
	if (r->code && r->kind == REGEX_SEARCH && !str_is_utf8(value))
		return mended_matches(r, value);
	if (r->has_prefix)
		return r->kind != REGEX_WHOLE ?
			       regex_contains(value, r->prefix) :
			       str_starts(value, r->prefix);
	if (r->code)
		return engine_matches(r, value);
	return matches_literal(r, value);
}

/*
 * Store the text of each capture group, using the offsets that PCRE2 reports;
 * `count` is the result of pcre2_match().
 */
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
	if (!r->code) { /* literals and prefixes have no groups */
		if (!regex_matches(r, value))
			return 0;
		for (size_t i = 0; i < max; i++)
			groups[i] = i ? str_of("") : value;
		return 1;
	}
	count = backtracking_match(r, value);
	if (count == PCRE2_ERROR_NOMATCH)
		return 0;
	/*
	 * There is no second try with the DFA matcher: it cannot report groups.
	 */
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

/*
 * PCRE2 takes a NUL-terminated name, so the name is copied. PCRE2 refuses
 * patterns with group names of more than GROUP_NAME_MAX bytes, so no group has
 * such a name.
 */
size_t regex_group_named(const struct regex *r, struct str name)
{
	char text[GROUP_NAME_MAX + 1];
	int n;

	if (!r->code || name.len > GROUP_NAME_MAX)
		return 0;
	bytes_copy(text, bytes_of(name));
	text[name.len] = 0;
	n = pcre2_substring_number_from_name(r->code, (PCRE2_SPTR)text);
	return n > 0 ? (size_t)n : 0;
}

bool regex_gave_up(const struct regex *r)
{
	return *r->gave_up;
}

bool regex_is_costly(const struct regex *r)
{
	return r->code != NULL;
}

bool regex_literal(const struct regex *r, size_t i, struct str *out)
{
	if (i >= r->literal_count)
		return false;
	*out = r->literals[i];
	return true;
}

int regex_check_steps(const struct regex *r, const char *name, struct err *err)
{
	if (!r || !regex_gave_up(r))
		return 0;
	return err_set(
		err, ERR_INVALID,
		"%s: the regular expression takes too many steps: use a simpler one",
		name);
}
