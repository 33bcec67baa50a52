/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Legacy formats of pprof: Java profiles.
 *
 * Ownership: fills the profile of the parser.
 * Threads: one thread a parser.
 */
#ifndef PPROF_LEGACY_LEGACY_JAVA_H
#define PPROF_LEGACY_LEGACY_JAVA_H

#include "pprof/legacy/legacy_parser.h"

/* Java's CPU profiles end in names of their locations. */
int legacy_java_locations(struct legacy *l, struct str text);

int legacy_java(struct legacy *l);

#endif
