/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate of regular expressions: refuse what RE2 refuses, and write the rest so
 * that PCRE2 understands it as RE2 does.
 *
 * Ownership: the result is the caller's.
 * Threads: pure functions.
 */
#ifndef MODEL_REGEX_GATE_H
#define MODEL_REGEX_GATE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

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

int gate_run(struct gate *g);

#endif
