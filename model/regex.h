/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regular expressions from strangers: RE2's syntax (what Prometheus accepts),
 * matched whole or looked for, in bounded time.
 *
 * A gate refuses what RE2 does not know (look-around, back-references,
 * possessive and atomic groups …); then PCRE2 runs with a limit on its steps,
 * and where that is reached its DFA, slower and without backtracking.
 * Literals, alternations of literals and "literal.*" need no engine at all.
 *
 * Ownership: regex_free() frees; the literal borrows from the expression.
 * Threads: a regex belongs to one thread.
 */
#ifndef MODEL_REGEX_H
#define MODEL_REGEX_H

#include "base/bytes.h"
#include "base/err.h"

enum {
	REGEX_BYTES_MAX = 16 * 1024
};

struct regex;

/*
 * ERR_INVALID says why a pattern is refused; *at (may be NULL) is where in it,
 * in bytes.
 */
NODISCARD int regex_new(struct str pattern, struct regex **out, size_t *at,
			struct err *err);

/*
 * As Go's regexp.MatchString: anywhere in the text, and "." is no line end;
 * a byte that is no UTF-8 counts as U+FFFD. For pprof's options.
 */
NODISCARD int regex_new_search(struct str pattern, struct regex **out,
			       size_t *at, struct err *err);

/* The same for text that need not be UTF-8: every byte is a character. */
NODISCARD int regex_new_bytes(struct str pattern, struct regex **out,
			      size_t *at, struct err *err);
void regex_free(struct regex *r);

/*
 * Whether the whole of value matches, or a part if it was made to search. A
 * search that takes too many steps finds nothing: regex_gave_up() tells.
 */
bool regex_matches(const struct regex *r, struct str value);

/* Whether a search of this expression was ever given up. */
bool regex_gave_up(const struct regex *r);

/*
 * The groups of a match, group 0 being the whole of it; those that took no
 * part are empty. At most max of them are written. 1, 0 for no match, or
 * ERR_LIMIT: it takes too many steps.
 */
NODISCARD int regex_groups(const struct regex *r, struct str value,
			   struct str *groups, size_t max);

/* Groups of the pattern, group 0 not counted. */
size_t regex_group_count(const struct regex *r);

/* The number of the group (?P<name>…), or 0. */
size_t regex_group_named(const struct regex *r, struct str name);

/*
 * When the pattern is a list of literals (a|b|c, or one), the i-th of them:
 * the values that it can match, so that an index need not be scanned.
 */
bool regex_literal(const struct regex *r, size_t i, struct str *out);

#endif
