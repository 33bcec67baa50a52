/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Write the fields of a profile but its samples, as its writer wrote them.
 *
 * Ownership, threads: those of the writer (reencode.h).
 */
#ifndef PPROF_ROWS_REENCODE_FIELDS_H
#define PPROF_ROWS_REENCODE_FIELDS_H

#include "pprof/rows/reencode_private.h"

/* Many numbers of one field: in a row when there are more than two. */
bool reencode_is_packed(const struct replay *r, size_t count);

void reencode_value_type(struct replay *r, unsigned field,
			 const uint32_t *texts);

void reencode_mappings(struct replay *r);

/* The functions that were met since the last call. */
void reencode_functions(struct replay *r);

void reencode_location(struct replay *r, uint32_t place, uint32_t id);

void reencode_locations(struct replay *r);

void reencode_number(struct replay *r, unsigned field, uint64_t v, bool always);

void reencode_comments(struct replay *r, const struct shape_op *op);

/* The table of strings has those of the fields behind it, too. */
void reencode_strings(struct replay *r);

#endif
