/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decode the tables of a profile: types, mappings, locations, functions, strings.
 * Samples are in decode.c.
 *
 * Ownership, threads: those of the decoder (decode.h).
 */
#ifndef PPROF_PROTO_DECODE_TABLES_H
#define PPROF_PROTO_DECODE_TABLES_H

#include "pprof/proto/decode_private.h"

/* Fields 1 … count into v, the last one winning; every other is skipped. */
bool decode_numbers(struct decoder *d, const struct wire_field *field,
		    uint64_t *v, size_t count);

bool decode_tables(struct decoder *d, struct bytes raw);

#endif
