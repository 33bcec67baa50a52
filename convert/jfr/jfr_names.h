/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JFR names: the names of classes and libraries that a program makes while it runs have
 * a number or an address in them, which is another one in each process. They are
 * replaced by "_", so that profiles of several processes, and of two versions, can be
 * merged and compared.
 * Source: github.com/grafana/jfr-parser, parser/symbols.go, whose names these are; here,
 * an address may follow a "+", too, and a number an address, as in recordings of Java.
 *
 * Ownership: jfr_names_free() frees the rules.
 * Threads: one thread at a time.
 */
#ifndef CONVERT_JFR_JFR_NAMES_H
#define CONVERT_JFR_JFR_NAMES_H

#include "base/arena.h"

struct jfr_names;

/* Compile the rules; never fails. */
struct jfr_names *jfr_names_new(void);

/* Free the rules. NULL is a no-op. */
void jfr_names_free(struct jfr_names *n);

/* Return the name that is kept: the same, borrowed, or another one of the arena. */
struct str jfr_names_fold(const struct jfr_names *n, struct str name,
			  struct arena *arena);

#endif
