/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Legacy formats of pprof: binary CPU profiles.
 *
 * Ownership: fills the profile of the parser.
 * Threads: one thread a parser.
 */
#ifndef PPROF_LEGACY_LEGACY_CPU_H
#define PPROF_LEGACY_LEGACY_CPU_H

#include "pprof/legacy/legacy_parser.h"

/* Parsers. */
int legacy_cpu(struct legacy *l);

#endif
