/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Legacy formats of pprof: the binary CPU profiles of gperftools.
 *
 * Ownership: fills the profile of the parser.
 * Threads: one thread per parser.
 */
#ifndef PPROF_LEGACY_LEGACY_CPU_H
#define PPROF_LEGACY_LEGACY_CPU_H

#include "pprof/legacy/legacy_parser.h"

/*
 * Parses a binary CPU profile, including one written by Java. ERR_UNSUPPORTED:
 * the input has no header of this format, or its samples are malformed;
 * ERR_INVALID: a limit was hit, or the location names of a Java profile are
 * malformed.
 */
int legacy_cpu(struct legacy *l);

#endif
