/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Legacy formats of pprof: heap and contention profiles of Java.
 *
 * Ownership: fills the profile of the parser.
 * Threads: one thread per parser.
 */
#ifndef PPROF_LEGACY_LEGACY_JAVA_H
#define PPROF_LEGACY_LEGACY_JAVA_H

#include "pprof/legacy/legacy_parser.h"

/*
 * Parses the section that names the profile's addresses; `text` is the rest of
 * the input after the samples. Java's CPU profiles end in such a section, too.
 * ERR_INVALID: an address does not fit into 64 bits.
 */
int legacy_java_locations(struct legacy *l, struct str text);

/*
 * Parses a heap or contention profile of Java. ERR_UNSUPPORTED: the input is in
 * another format; ERR_INVALID: it is malformed.
 */
int legacy_java(struct legacy *l);

#endif
