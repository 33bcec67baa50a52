/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regular expressions from untrusted users, in RE2's syntax (the one that
 * Prometheus accepts), evaluated in bounded time.
 *
 * A gate refuses syntax that RE2 does not have (look-around, back references,
 * possessive and atomic groups …). PCRE2 then matches with a limit on its
 * backtracking steps. If a whole-value match reaches the limit, PCRE2's DFA
 * matcher takes over, which is slower but does not backtrack; it has a limit on
 * its states. One match thus takes some tenths of a second at most. Literals,
 * alternations of literals and "literal.*" are compared without any engine.
 *
 * Ownership: the caller frees a regex with regex_free(). Strings that
 * regex_literal() returns are borrowed from the regex.
 * Threads: a regex belongs to one thread.
 */
#ifndef MODEL_REGEX_H
#define MODEL_REGEX_H

#include "base/bytes.h"
#include "base/err.h"

enum {
	REGEX_BYTES_MAX = 16 * 1024 /* longest pattern, in bytes */
};

struct regex;

/*
 * Compile a pattern that must match a whole value. ERR_INVALID: the pattern is
 * refused, and `err` says why and, if known, at which byte. The caller owns
 * *out.
 */
NODISCARD int regex_new(struct str pattern, struct regex **out,
			struct err *err);

/*
 * Compile a pattern that may match anywhere in a text, with the meaning of
 * Go's regexp.MatchString: "." does not match a newline, and a byte that is not
 * UTF-8 counts as U+FFFD. Used for pprof's options such as focus. Errors as for
 * regex_new().
 */
NODISCARD int regex_new_search(struct str pattern, struct regex **out,
			       struct err *err);

/*
 * Compile a pattern that may match anywhere in a text that need not be UTF-8:
 * every byte counts as one character. Errors as for regex_new().
 */
NODISCARD int regex_new_bytes(struct str pattern, struct regex **out,
			      struct err *err);

/* Free a regex. NULL is a no-op. */
void regex_free(struct regex *r);

/*
 * Return whether the regex matches: the whole value if regex_new() made the
 * regex, else any part of the value. A match that takes too many steps returns
 * false and is recorded for regex_gave_up().
 */
bool regex_matches(const struct regex *r, struct str value);

/* Return whether any match of this regex ever exceeded its limits. */
bool regex_gave_up(const struct regex *r);

/*
 * Return whether a match may take long. False: the regex only compares texts.
 */
bool regex_is_costly(const struct regex *r);

/*
 * Return ERR_INVALID if a match of the regex ever exceeded its limits, because
 * the results then lack matches. Otherwise, and for a NULL regex, returns 0.
 * `name` tells the user, in the message, which regex is meant.
 */
NODISCARD int regex_check_steps(const struct regex *r, const char *name,
				struct err *err);

/*
 * Match `value` and store the text of up to `max` capture groups; group 0 is
 * the whole match, and groups that did not take part are empty. Returns 1 for a
 * match, 0 for none, ERR_LIMIT if matching takes too many steps. The stored
 * texts point into `value`.
 */
NODISCARD int regex_groups(const struct regex *r, struct str value,
			   struct str *groups, size_t max);

/* Return the number of capture groups, not counting group 0. */
size_t regex_group_count(const struct regex *r);

/*
 * Return the number of the capture group (?P<name>…), or 0 if there is none.
 */
size_t regex_group_named(const struct regex *r, struct str name);

/*
 * Store the i-th literal of a pattern that is a list of literals (a|b|c, or a
 * single one) and return true; return false after the last literal, and for
 * every other pattern. The literals are sorted, without duplicates. A label
 * index looks these values up instead of scanning
 * all values of a label.
 */
bool regex_literal(const struct regex *r, size_t i, struct str *out);

#endif
