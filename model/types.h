/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Type set: the sample types of a profile, which of them is the default, and
 * what its period counts; with the encoding that records and heads share
 * (docs/format/common.md).
 *
 * Ownership: a decoded type set borrows all text from the encoding.
 * Threads: plain values.
 */
#ifndef MODEL_TYPES_H
#define MODEL_TYPES_H

#include "base/buf.h"
#include "base/err.h"

enum {
	TYPES_MAX = 256,               /* sample types of a profile */
	TYPESET_BYTES_MAX = 64 * 1024, /* of the encoding */
};

struct value_type {
	struct str type;
	struct str unit;
};

struct typeset {
	struct value_type types[TYPES_MAX];
	size_t count;
	struct str default_type; /* as written; empty: the last one */
	struct value_type period;
};

/* Append the encoding; out is `over` when it is larger than its maximum. */
void typeset_encode(const struct typeset *t, struct buf *out);

/* ERR_CORRUPT when bytes are not an encoding. */
NODISCARD int typeset_decode(struct bytes encoded, struct typeset *out,
			     struct err *err);

/* How many sample types an encoding has, without decoding it; 0 for none. */
size_t typeset_count(struct bytes encoded);

/*
 * The sample type that a name stands for, as pprof's sample_index: a type's
 * name, a number from 0, or nothing for the default one. ERR_INVALID lists
 * what there is.
 */
NODISCARD int typeset_index(const struct typeset *t, struct str name,
			    size_t *out, struct err *err);

#endif
