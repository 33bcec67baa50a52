/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Type set: the sample types of a profile, which of them is the default, and
 * what its period counts. A type set has the same encoding in WAL records and
 * in chunk metadata (docs/format/common.md).
 *
 * Ownership: a decoded type set borrows all text from the encoding.
 * Threads: type sets are plain values.
 */
#ifndef MODEL_TYPES_H
#define MODEL_TYPES_H

#include "base/buf.h"
#include "base/err.h"

enum {
	TYPES_MAX = 256,               /* largest number of sample types */
	TYPESET_BYTES_MAX = 64 * 1024, /* longest encoded type set, in bytes */
};

/* What a number counts, and in which unit; for example cpu, nanoseconds. */
struct value_type {
	struct str type;
	struct str unit;
};

/* A decoded type set. */
struct typeset {
	struct value_type types[TYPES_MAX];
	size_t count;
	/* name of the default sample type, or empty: see typeset_default */
	struct str default_type;
	/* type and unit of the period (the distance between two samples) */
	struct value_type period;
};

/*
 * Append the encoding of a type set to `out`; out->over is set if the encoding
 * exceeds the buffer's maximum.
 */
void typeset_encode(const struct typeset *t, struct buf *out);

/* Decode a type set. ERR_CORRUPT: the bytes are not an encoded type set. */
NODISCARD int typeset_decode(struct bytes encoded, struct typeset *out,
			     struct err *err);

/*
 * Return the number of sample types in an encoded type set without decoding
 * the set; 0 if the encoding is damaged.
 */
size_t typeset_count(struct bytes encoded);

/*
 * Return the index of the default type. If the default is not set or names no
 * type of the set, this is the last type, as in pprof. The set is not empty.
 */
size_t typeset_default(const struct typeset *t);

/*
 * Find the sample type that pprof's option sample_index names: by its name, by
 * a number counted from 0, or the default type for an empty name. *out receives
 * the type's index. ERR_INVALID: there is no such type; `err` lists the types.
 */
NODISCARD int typeset_index(const struct typeset *t, struct str name,
			    size_t *out, struct err *err);

/*
 * Whether the profile type `name` (a value of the label __name__) is what
 * somebody probably means who types `typed`, another name: Go calls its CPU
 * profile "profile".
 */
bool types_is_meant(struct str typed, struct str name);

#endif
