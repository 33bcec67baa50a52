/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the tables of a profile: types, mappings, locations, functions,
 * strings. Samples are checked in scan.c.
 *
 * Ownership: as described in pprof/proto/scan.h.
 * Threads: as described in pprof/proto/scan.h.
 */
#ifndef PPROF_PROTO_SCAN_TABLES_H
#define PPROF_PROTO_SCAN_TABLES_H

#include "pprof/proto/scan_private.h"

/*
 * Reads a message that has only number fields: field n (1 … count) is stored in
 * v[n - 1]. If a field is repeated, its last value counts; other fields are
 * skipped. The caller must initialise v. Returns false if the profile is
 * refused.
 */
bool scan_numbers(struct scanner *s, const struct wire_field *field,
		  uint64_t *v, size_t count);

/*
 * Checks a location and its lines. In the second walk, when all tables are
 * read, checks only that the functions of lines exist. Returns false if the
 * profile is refused.
 */
bool scan_location(struct scanner *s, const struct wire_field *field);

/* Checks everything but samples. Returns false if the profile is refused. */
bool scan_tables(struct scanner *s, struct bytes raw);

#endif
