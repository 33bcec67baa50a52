/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded convert: folded stacks as a profile of pprof. Each line is a stack, the
 * outermost function first, and a number: "main;work;sum 12". Scripts of perf, bpftrace
 * and DTrace write this format, and many profilers can.
 * Source: github.com/brendangregg/FlameGraph, stackcollapse.pl.
 *
 * Ownership: everything is borrowed for the call.
 * Threads: any; no shared state.
 */
#ifndef CONVERT_FOLDED_FOLDED_CONVERT_H
#define CONVERT_FOLDED_FOLDED_CONVERT_H

#include "convert/conversion/convert_caller.h"
#include "convert/conversion/stack_build.h"

enum {
	FOLDED_FRAMES_MAX = 4096,   /* of a stack */
	FOLDED_NAME_MAX = 64 * 1024 /* bytes of the name of a function */
};

/* What the conversion needs besides the text. */
struct folded_options {
	struct convert_caller caller;
	struct stack_head head;
	int64_t factor; /* by which the numbers are multiplied */
	const struct labels_builder *labels; /* of the series */
};

/*
 * Convert a text, and store it. ERR_INVALID: a line has no number, or too many or too long functions;
 * the message names the line. ERR_TOOBIG: the profile is too large; and the errors of
 * the callbacks.
 */
NODISCARD int folded_convert(struct str text, const struct folded_options *o,
			     struct err *err);

#endif
