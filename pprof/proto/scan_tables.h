/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Check the tables of a profile: types, mappings, locations, functions, strings.
 * Samples are in scan.c.
 *
 * Ownership, threads: those of the scanner (scan.h).
 */
#ifndef PPROF_PROTO_SCAN_TABLES_H
#define PPROF_PROTO_SCAN_TABLES_H

#include "pprof/proto/scan_private.h"

/*
 * A message of numbers: fields 1 … count into v, the last one winning; every
 * other field is skipped.
 */
bool scan_numbers(struct scanner *s, const struct wire_field *field,
		  uint64_t *v, size_t count);

bool scan_location(struct scanner *s, const struct wire_field *field);

bool scan_tables(struct scanner *s, struct bytes raw);

#endif
