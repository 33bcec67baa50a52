/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate in front of the regex engine: it refuses patterns that RE2 refuses,
 * and rewrites the rest so that PCRE2 gives them RE2's meaning.
 *
 * Ownership: the caller owns the members `out` and `groups` of the gate and
 * frees them, also after an error.
 * Threads: the functions keep no state outside of struct gate.
 */
#ifndef MODEL_REGEX_GATE_H
#define MODEL_REGEX_GATE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

/*
 * A pattern that is being checked and rewritten. The caller sets `in` and
 * `err`; the other members begin as zero.
 */
struct gate {
	struct str in;         /* the pattern to check and rewrite */
	size_t at;             /* offset of the next byte of `in` */
	struct buf out;        /* the rewritten pattern */
	bool in_class;         /* whether the next byte is inside of […] */
	bool after_quantifier; /* whether the last element was a quantifier */
	/*
	 * `repeats` is the product of the repeat counts ({n,m}) that apply to
	 * the last piece of the pattern (an element with its quantifiers).
	 * `groups` has, for each open group, the largest product of its pieces
	 * so far. RE2 accepts products of at most 1000.
	 */
	int64_t repeats;
	VEC(int64_t) groups;
	struct err *err;
};

/*
 * Check and rewrite the whole pattern. ERR_INVALID: RE2 would refuse the
 * pattern, or a limit is exceeded; err says why. Errors that PCRE2 detects as
 * well, such as a missing parenthesis, are left to PCRE2.
 */
int gate_run(struct gate *g);

#endif
