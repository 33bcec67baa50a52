/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Legacy formats of pprof: text profiles: heap, contention, thread, count.
 *
 * Ownership: fills the profile of the parser.
 * Threads: one thread a parser.
 */
#ifndef PPROF_LEGACY_LEGACY_TEXT_H
#define PPROF_LEGACY_LEGACY_TEXT_H

#include "pprof/legacy/legacy_parser.h"

int legacy_heap(struct legacy *l);

int legacy_jemalloc(struct legacy *l);

int legacy_count(struct legacy *l);

int legacy_thread(struct legacy *l);

int legacy_contention(struct legacy *l);

#endif
