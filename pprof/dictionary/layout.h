/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shape of a profile says how its writer laid out the top level: a dialect,
 * and the fields in their order, with the texts that they name. What differs
 * from profile to profile (times, samples, tables) is in columns and in the
 * dictionary; a shape only says where it is written.
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
 * Threads: any; there is no shared state.
 */
#ifndef PPROF_DICTIONARY_LAYOUT_H
#define PPROF_DICTIONARY_LAYOUT_H

#include "pprof/dictionary/intern.h"

/*
 * A writer's order of fields and ids. Elements are numbered from 1 when they
 * are first written; in Go's dialect a location is written before the first
 * sample that needs it.
 */
enum dialect {
	DIALECT_GO,    /* Go's runtime/pprof, proto.go */
	DIALECT_PPROF, /* google/pprof's profile/encode.go; ours */
	DIALECT_PROTO, /* protobuf libraries: as pprof, everything packed */
	DIALECTS,
};

/* Maximum number of words of a shape; longer ones are refused. */
#define SHAPE_WORDS_MAX 1024

/* One operation of a shape: a field and its operands. */
struct shape_op {
	uint32_t field;
	const uint32_t *operands;
	size_t count;
};

/* An iterator over a shape that shape_valid() has accepted. */
struct shape_walk {
	const uint32_t *pos;
	const uint32_t *end;
};

/* Start to iterate over a shape and return its dialect in *dialect. */
struct shape_walk shape_walk(const struct dictionary *d, uint32_t shape,
			     enum dialect *dialect);

/* Get the next operation; false at the end of the shape. */
bool shape_next(struct shape_walk *w, struct shape_op *out);

/* Whether n words are a well-formed shape whose texts are below `strings`. */
bool shape_valid(const uint32_t *words, size_t n, size_t strings);

/*
 * Find or add the shape of a profile's bytes, as a writer of the dialect would
 * have made it. ERR_UNSUPPORTED: too long, or a field has an unexpected type.
 */
NODISCARD int shape_read(struct bytes raw, enum dialect dialect,
			 struct intern *in, uint32_t *out, struct err *err);

#endif
