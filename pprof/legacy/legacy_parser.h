/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations that the parsers of the legacy formats share: reading lines,
 * regular expressions and numbers, and building a profile from addresses.
 * Private to pprof/legacy/.
 *
 * A parser of one format returns 0, or ERR_UNSUPPORTED if the input is not in
 * its format, so that the next parser is tried, or ERR_INVALID if the input is
 * in its format but malformed.
 *
 * Ownership: the parser owns the profile and its strings until legacy_free().
 * Threads: one thread per parser.
 */
#ifndef PPROF_LEGACY_LEGACY_PARSER_H
#define PPROF_LEGACY_LEGACY_PARSER_H

#include "model/regex.h"
#include "pprof/legacy/legacy.h"

/* The regular expressions of all formats; each is compiled at its first use. */
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

/* The state of a parser. */
struct legacy {
	struct pprof p;
	struct table places; /* maps addresses to indexes of locations */
	struct regex *regexes[RX_COUNT_OF];
	VEC(uint64_t) addresses; /* current sample's stack, leaf first */
	struct bytes raw;        /* the whole input */
	struct str rest;         /* the input after the current line */
	struct str line;         /* the current line, without line end */
	size_t max;              /* memory bound in bytes */
	bool over;       /* whether a limit on memory or input was hit */
	const char *why; /* the first reason to refuse the profile */
	struct err *err;
};

/*
 * Read the next line into l->line. Returns false, with an empty line, at the
 * end of the input or if the line is too long; in the latter case l->over is
 * set.
 */
bool legacy_next_line(struct legacy *l);

/* Return s without white space on both sides. */
struct str legacy_trim(struct str s);

/* Return whether the line is empty or a comment ("#"). */
bool legacy_is_blank(struct str line);

/*
 * Search s with one of the expressions and store up to `max` capture groups,
 * which borrow from s; group 0 is the whole match. Returns whether there is a
 * match; a search that takes too many steps counts as no match.
 */
bool legacy_match(struct legacy *l, enum legacy_regex rx, struct str s,
		  struct str *groups, size_t max);

/*
 * Parse s, all of it, as a signed number in the given base. With base 0 the
 * number's prefix determines the base, as in Go. Returns false if s is no
 * number or does not fit.
 */
bool legacy_int(struct str s, int base, int64_t *out);

/*
 * Parse s as an unsigned number without sign or prefix. Returns false if it is
 * empty, has other characters, or overflows.
 */
bool legacy_uint(struct str s, int base, uint64_t *out);

/*
 * Return whether s is one or more numbers " 0x…". s must have only the
 * characters " x0-9a-f".
 */
bool legacy_is_hex_list(struct str s);

/*
 * Replace l->addresses by all numbers "0x…" of s. ERR_INVALID: a number does
 * not fit into 64 bits.
 */
int legacy_hex(struct legacy *l, struct str s);

/*
 * Record why the profile is malformed, unless a reason is known already, and
 * returns ERR_INVALID. `why` is a static string.
 */
int legacy_bad(struct legacy *l, const char *why);

/* Return ERR_UNSUPPORTED: the input is not in the format of this parser. */
int legacy_unknown(void);

/* Building the profile. */

/* Add a sample type to the profile. */
void legacy_type(struct legacy *l, const char *type, const char *unit);

/* Set period type and period of the profile. */
void legacy_period(struct legacy *l, const char *type, const char *unit,
		   int64_t period);

/*
 * Add a sample with the stack in l->addresses and one value for each sample
 * type. `adjust` is the number of frames, counted from the leaf, whose
 * addresses are not return addresses. All other addresses are reduced by 1, so
 * that they are within the call instruction. Unless `bytes` is 0, the sample
 * gets a numeric label "bytes" with this value. ERR_INVALID: the memory bound
 * was hit.
 */
int legacy_sample(struct legacy *l, const int64_t *values, size_t adjust,
		  int64_t bytes);

/*
 * Remove the second frame of each stack if its address is that of the leaf,
 * reduced by 1 like every return address: some profilers record the leaf twice.
 */
void legacy_drop_twin_leaves(struct legacy *l);

/*
 * Correct *count objects with a total of *size bytes for sampling: replaces
 * the sampled numbers by an estimate of the real ones. The larger an
 * allocation, the more likely it is sampled. `rate` is the mean number of bytes
 * between two samples. With a rate of 1 or less every allocation was sampled,
 * and nothing changes. If *count or *size is 0, both become 0.
 */
void legacy_unsample(int64_t *count, int64_t *size, int64_t rate);

/*
 * Parse a binary CPU profile, including one written by Java. ERR_UNSUPPORTED:
 * the input has no header of this format, or its samples are malformed;
 * ERR_INVALID: a limit was hit, or the location names of a Java profile are
 * malformed.
 */
int legacy_cpu(struct legacy *l);

/*
 * Parse heap, growth and fragmentation profiles of tcmalloc, and Go's
 * heap?debug=1.
 */
int legacy_heap(struct legacy *l);

/* Parse heap_v2, the heap profiles of jemalloc. */
int legacy_jemalloc(struct legacy *l);

/* Parse Go's counts of stacks: goroutine?debug=1, threadcreate?debug=1. */
int legacy_count(struct legacy *l);

/* Parse threadz: stacks of all threads. */
int legacy_thread(struct legacy *l);

/* Parse contentionz, and Go's mutex?debug=1 and block?debug=1. */
int legacy_contention(struct legacy *l);

/*
 * Parse the section that names the profile's addresses; `text` is the rest of
 * the input after the samples. Java's CPU profiles end in such a section, too.
 * ERR_INVALID: an address does not fit into 64 bits.
 */
int legacy_java_locations(struct legacy *l, struct str text);

/*
 * Parse a heap or contention profile of Java. ERR_UNSUPPORTED: the input is in
 * another format; ERR_INVALID: it is malformed.
 */
int legacy_java(struct legacy *l);

/* Return whether the line begins the memory map. */
bool legacy_is_map_start(struct str line);

/*
 * Skip lines, from the current line on, until the memory map begins, then
 * parses it as legacy_maps() does. Returns 0; a profile need not have a map.
 */
int legacy_sections(struct legacy *l);

/*
 * Give each location of a stack the mapping that covers its address. Addresses
 * that no mapping covers share one mapping of the whole address space. Sets
 * l->over if there are so many mappings and locations that this would take too
 * long.
 */
void legacy_assign_mappings(struct legacy *l);

/*
 * Parse all lines after the current line as the memory map and assign its
 * mappings to the locations. Returns 0; a map that is too large sets l->over.
 */
int legacy_maps(struct legacy *l);

#endif
