/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Legacy formats of pprof: the profiles that consist of lines of text. All
 * parsers return ERR_UNSUPPORTED if the input is not in their format, and
 * ERR_INVALID if it is malformed or hits a limit.
 *
 * Ownership: fills the profile of the parser.
 * Threads: one thread per parser.
 */
#ifndef PPROF_LEGACY_LEGACY_TEXT_H
#define PPROF_LEGACY_LEGACY_TEXT_H

#include "pprof/legacy/legacy_parser.h"

/*
 * Parses heap, growth and fragmentation profiles of tcmalloc, and Go's
 * heap?debug=1.
 */
int legacy_heap(struct legacy *l);

/* Parses heap_v2, the heap profiles of jemalloc. */
int legacy_jemalloc(struct legacy *l);

/* Parses Go's counts of stacks: goroutine?debug=1, threadcreate?debug=1. */
int legacy_count(struct legacy *l);

/* Parses threadz: stacks of all threads. */
int legacy_thread(struct legacy *l);

/* Parses contentionz, and Go's mutex?debug=1 and block?debug=1. */
int legacy_contention(struct legacy *l);

#endif
