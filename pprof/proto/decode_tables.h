/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes the tables of a profile: types, mappings, locations, functions,
 * strings. Samples are decoded in decode.c.
 *
 * Ownership: as described in pprof/proto/decode.h.
 * Threads: as described in pprof/proto/decode.h.
 */
#ifndef PPROF_PROTO_DECODE_TABLES_H
#define PPROF_PROTO_DECODE_TABLES_H

#include "pprof/proto/decode_private.h"

/*
 * Reads a message that has only number fields: field n (1 … count) is stored in
 * v[n - 1]. If a field is repeated, its last value counts; other fields are
 * skipped. The caller must initialise v. Returns false if the profile is
 * refused.
 */
bool decode_numbers(struct decoder *d, const struct wire_field *field,
		    uint64_t *v, size_t count);

/* Decodes everything but samples. Returns false if the profile is refused. */
bool decode_tables(struct decoder *d, struct bytes raw);

#endif
