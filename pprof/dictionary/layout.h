/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shape: how a profile's writer laid out its top level: a dialect, and the
 * fields in their order, with the texts that they name. What differs from
 * profile to profile (times, samples, tables) stands in columns and in the
 * dictionary; a shape says only where it comes.
 *
 *	words: dialect, then operations: a field number and its operands
 *	  SAMPLE_TYPE, PERIOD_TYPE     type, unit (texts)
 *	  DROP_FRAMES, KEEP_FRAMES, DEFAULT_TYPE, DOC_URL    a text
 *	  COMMENT                      count, that many texts
 *	  TIME, DURATION, PERIOD       none
 *	  SAMPLE, MAPPING, LOCATION, FUNCTION, STRING    none: all of them, in a
 *	                               row; in Go's dialect SAMPLE is samples
 *	                               with the locations and functions that are
 *	                               new in them
 *
 * Ownership: borrows the dictionary.
 * Threads: pure functions.
 */
#ifndef PPROF_DICTIONARY_LAYOUT_H
#define PPROF_DICTIONARY_LAYOUT_H

#include "pprof/dictionary/intern.h"

/*
 * A writer's order of fields and ids. Everything is numbered when it is first
 * written, from 1; in Go's a location stands before the first sample that
 * needs it.
 */
enum dialect {
	DIALECT_GO,    /* Go's runtime/pprof, proto.go */
	DIALECT_PPROF, /* google/pprof's profile/encode.go; ours */
	DIALECT_PROTO, /* protobuf libraries: as pprof, everything packed */
	DIALECTS,
};

/* No operation has more words: a longer shape is refused. */
#define SHAPE_WORDS_MAX 1024

/* One operation of a shape. */
struct shape_op {
	uint32_t field;
	const uint32_t *operands;
	size_t count;
};

/* Walks a shape that shape_valid() found to be one. */
struct shape_walk {
	const uint32_t *pos;
	const uint32_t *end;
};

struct shape_walk shape_walk(const struct dictionary *d, uint32_t shape,
			     enum dialect *dialect);
bool shape_next(struct shape_walk *w, struct shape_op *out);

/* Whether n words are a shape whose texts are below `strings`. */
bool shape_valid(const uint32_t *words, size_t n, size_t strings);

/*
 * The shape of a profile's bytes in a dialect, interned. ERR_UNSUPPORTED: it
 * is too long, or its fields are not what they should be.
 */
NODISCARD int shape_read(struct bytes raw, enum dialect dialect,
			 struct intern *in, uint32_t *out, struct err *err);

#endif
