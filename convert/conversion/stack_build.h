/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stack build: profiles of pprof from stacks of named functions. A source may have
 * several profiles (CPU time, memory, locks) whose stacks are the same ones, so the
 * stacks are kept once, and a part has the samples of each profile.
 *
 * Ownership: stack_build_fini() and stack_part_fini() free everything.
 * Threads: one thread at a time.
 */
#ifndef CONVERT_CONVERSION_STACK_BUILD_H
#define CONVERT_CONVERSION_STACK_BUILD_H

#include "base/buf.h"
#include "convert/conversion/convert_meter.h"
#include "model/types.h"
#include "pprof/profile/profile.h"

enum {
	STACK_VALUES_MAX = 2 /* values of a sample */
};

/* Functions, locations, stacks and label sets, each once. */
struct stack_build {
	struct pprof p;
	struct table functions;
	struct table locations;
	struct table stacks;
	struct table label_sets;
	/* Where the stack and the label set that are being built begin. */
	uint32_t first_frame;
	uint32_t first_label;
};

/* The samples of a profile. The zero value is empty. */
struct stack_part {
	VEC(struct pprof_sample) samples;
	VEC(int64_t) values; /* rows of STACK_VALUES_MAX */
	struct table index;
};

/* What is said of a profile besides its samples. */
struct stack_head {
	struct value_type
		types[STACK_VALUES_MAX]; /* empty: there is no such value */
	struct value_type period_type;   /* empty: none */
	int64_t period;
	int64_t time_ns;
	int64_t duration_ns;
};

/* Begin without anything but label set number 0, which is empty. */
void stack_build_init(struct stack_build *b);

/* Return the number of the function with this name; it is added if it is new. */
uint32_t stack_build_function(struct stack_build *b, struct str name);

/* Add a frame, the caller of the one before, to the stack that is being built. */
void stack_build_frame(struct stack_build *b, uint32_t function, int64_t line);

/* Complete the stack that is being built, and return its number. */
uint32_t stack_build_stack(struct stack_build *b);

/* Whether the stack that is being built has no frame. */
bool stack_build_is_empty(const struct stack_build *b);

/* Add a label to the label set that is being built. */
void stack_build_label(struct stack_build *b, struct str key, struct str value);

/* Complete the label set that is being built, and return its number. */
uint32_t stack_build_labels(struct stack_build *b);

/*
 * Add values to those that a part has for a stack and a label set. False: their sum is
 * larger than 64 bits.
 */
NODISCARD bool stack_part_add(struct stack_part *part,
			      struct pprof_sample sample,
			      const int64_t values[STACK_VALUES_MAX]);

/*
 * Return a bound of the memory that stack_build_encode() takes, in bytes, if `out` has at
 * most `max` bytes.
 */
size_t stack_build_encoding(const struct stack_build *b,
			    const struct stack_part *part, size_t max);

/* Append the profile of a part to `out`, in the format of pprof. */
void stack_build_encode(struct stack_build *b, const struct stack_part *part,
			const struct stack_head *head, struct buf *out);

/* Return the memory of everything, in bytes. */
size_t stack_build_memory(const struct stack_build *b);
size_t stack_part_memory(const struct stack_part *part);

/* Free everything. */
void stack_build_fini(struct stack_build *b);
void stack_part_fini(struct stack_part *part);

#endif
