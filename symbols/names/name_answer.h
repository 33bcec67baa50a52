/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of the file helper to questions for the names of addresses: for each
 * address of the question, the functions at this address, the innermost inlined
 * one first. All numbers of a question are in the byte order of the machine.
 *
 * Ownership: a decoded frame borrows its texts from the answer.
 * Threads: any.
 */
#ifndef SYMBOLS_NAMES_NAME_ANSWER_H
#define SYMBOLS_NAMES_NAME_ANSWER_H

#include "base/buf.h"
#include "base/dec.h"

enum {
	/* Largest number of addresses of one question. */
	NAME_QUESTION_MAX = 4000,
	/* Largest number of functions at one address. */
	NAME_FRAMES_MAX = 64,
	/*
	 * Largest size in bytes of an answer to the collector; other callers
	 * set limits of their own.
	 */
	NAME_ANSWER_MAX = 16 << 20,
	/* Longer names of functions and files are cut. */
	NAME_TEXT_MAX = 4096,
};

/* A function at an address. */
struct name_frame {
	struct str system_name; /* as in the file */
	struct str name;        /* demangled, and without a symbol version */
	struct str file;        /* source file, or empty */
	uint64_t line;          /* 0: not known */
	uint64_t start_line;    /* of the function; 0: not known */
};

/*
 * Return the question to perf_map_read() that consists of `addresses`, which
 * are borrowed.
 */
static inline struct bytes name_question(const uint64_t *addresses,
					 size_t count)
{
	return (struct bytes){ .ptr = (const uint8_t *)addresses,
			       .len = count * sizeof(*addresses) };
}

/* Begin the answer for an address that has `count` functions. */
void name_answer_begin(struct buf *out, size_t count);

/* Add one of the functions that name_answer_begin() has announced. */
void name_answer_add(struct buf *out, const struct name_frame *frame);

/*
 * Read the number of functions of the next address. d->bad: the answer has
 * ended, or is malformed.
 */
size_t name_answer_next(struct dec *d);

/*
 * Read one of the functions that name_answer_next() has counted. d->bad: the
 * answer is malformed, has texts that are too long or not UTF-8, or functions
 * without a name.
 */
struct name_frame name_answer_frame(struct dec *d);

#endif
