/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shape of a profile says in which order its writer wrote the fields of the
 * outermost message, Profile. It consists of a dialect and one operation per
 * field, with the texts that the field refers to. Data that differs between
 * profiles (times, samples, tables) is in the columns and in the dictionary; a
 * shape only says where in the profile such data is written.
 *
 *	words: dialect, then operations: a field number and its operands
 *	  SAMPLE_TYPE, PERIOD_TYPE     type, unit (texts)
 *	  DROP_FRAMES, KEEP_FRAMES, DEFAULT_TYPE, DOC_URL    a text
 *	  COMMENT                      count, that many texts
 *	  TIME, DURATION, PERIOD       none
 *	  SAMPLE, MAPPING, LOCATION, FUNCTION, STRING    none: stands for all
 *	                               fields of that kind, one after another; in
 *	                               Go's dialect SAMPLE includes the locations
 *	                               and functions that are new in a sample
 *
 * Ownership: borrows the dictionary.
 * Threads: any; there is no shared state.
 */
#ifndef PPROF_DICTIONARY_LAYOUT_H
#define PPROF_DICTIONARY_LAYOUT_H

#include "pprof/dictionary/intern.h"

/*
 * A dialect: the order in which a kind of writer writes fields and assigns ids.
 * Elements get ids from 1 in the order in which they are first written; in Go's
 * dialect a location is written before the first sample that needs it.
 */
enum dialect {
	DIALECT_GO,    /* Go's runtime/pprof, proto.go */
	DIALECT_PPROF, /* google/pprof's encode.go; pprof/proto/encode.h */
	DIALECT_PROTO, /* protobuf libraries: as pprof, but always packed */
	DIALECTS,
};

/* Maximum number of words in a shape; longer shapes are refused. */
#define SHAPE_WORDS_MAX 1024

/* One operation of a shape: a field and its operands. */
struct shape_op {
	uint32_t field;
	const uint32_t *operands;
	size_t count;
};

/* An iterator over a shape that layout_valid_shape() has accepted. */
struct layout_walk_shape {
	const uint32_t *pos;
	const uint32_t *end;
};

/* Start to iterate over a shape, and store its dialect in `*dialect`. */
struct layout_walk_shape layout_walk_shape(const struct dictionary *d,
					   uint32_t shape,
					   enum dialect *dialect);

/* Get the next operation of the shape; returns false at its end. */
bool layout_next_shape(struct layout_walk_shape *w, struct shape_op *out);

/*
 * Whether n words are a well-formed shape, and the number of each of its texts
 * is less than `strings`.
 */
bool layout_valid_shape(const uint32_t *words, size_t n, size_t strings);

/*
 * Find or add the shape of the profile `raw`, on the assumption that the
 * profile is in the given dialect, and store the shape's number in `*out`.
 * ERR_UNSUPPORTED: the shape is too long, or a field has an unexpected type.
 */
NODISCARD int layout_read_shape(struct bytes raw, enum dialect dialect,
				struct intern *in, uint32_t *out,
				struct err *err);

#endif
