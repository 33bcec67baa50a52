/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parsers of legacy formats share: lines, expressions, numbers, and
 * a profile that is built from addresses. Private to pprof/.
 *
 * A parser returns 0, ERR_UNSUPPORTED when the bytes are not of its format
 * (another one may try), or ERR_INVALID.
 *
 * Ownership: the parser owns the profile and its texts until legacy_free().
 * Threads: one thread a parser.
 */
#ifndef PPROF_LEGACY_LEGACY_PARSER_H
#define PPROF_LEGACY_LEGACY_PARSER_H

#include "model/regex.h"
#include "pprof/legacy/legacy.h"

/* Expressions, compiled when first needed. */
enum legacy_regex {
	RX_HEAP_HEADER,
	RX_GROWTH_HEADER,
	RX_FRAGMENTATION_HEADER,
	RX_HEAP_SAMPLE,
	RX_JEMALLOC_HEADER,
	RX_JEMALLOC_TOTAL,
	RX_COUNT_START,
	RX_COUNT,
	RX_CONTENTION_SAMPLE,
	RX_THREADZ_START,
	RX_THREAD_START,
	RX_PROC_MAPS,
	RX_BRIEF_MAPS,
	RX_LOG_INFO,
	RX_LIBRARY,
	RX_JAVA_ATTRIBUTE,
	RX_JAVA_SAMPLE,
	RX_JAVA_LOCATION,
	RX_JAVA_FILE_LINE,
	RX_JAVA_PATH,
	RX_COUNT_OF,
};

struct legacy {
	struct pprof p;
	struct table places; /* of locations, by address */
	struct regex *regexes[RX_COUNT_OF];
	VEC(uint64_t) addresses; /* of the sample being read */
	struct bytes raw;
	struct str rest; /* behind the line */
	struct str line; /* the current one, without its end */
	size_t max;
	bool over; /* too much memory, or too long a line */
	const char *why;
	struct err *err;
};

/* The next line; false at the end, with an empty one. */
bool legacy_next_line(struct legacy *l);

/* Without spaces on both sides; whether nothing is left, or a comment. */
struct str legacy_trim(struct str s);
bool legacy_is_blank(struct str line);

bool legacy_match(struct legacy *l, enum legacy_regex rx, struct str s,
		  struct str *groups, size_t max);

/* A whole number; base 0 by its prefix as in Go. False: none, or too large. */
bool legacy_int(struct str s, int base, int64_t *out);

/* All 0x… of s into l->addresses. */
int legacy_hex(struct legacy *l, struct str s);

/* Refuse the profile. */
int legacy_bad(struct legacy *l, const char *why);
int legacy_unknown(void);

/* Building. */

void legacy_type(struct legacy *l, const char *type, const char *unit);
void legacy_period(struct legacy *l, const char *type, const char *unit,
		   int64_t period);

/*
 * Add a sample of l->addresses with one value for each type. adjust: how many
 * of them, from the leaf, are no return addresses; those behind are moved
 * back by 1, onto the call. bytes: the label of that name; 0: none.
 */
int legacy_sample(struct legacy *l, const int64_t *values, size_t adjust,
		  int64_t bytes);

/* A sampled leaf may stand there twice, once as a return address. */
void legacy_drop_twin_leaves(struct legacy *l);

/* An allocation of that size is seen with a probability: undo it. */
void legacy_unsample(int64_t *count, int64_t *size, int64_t rate);

#endif
