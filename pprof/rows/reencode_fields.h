/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes all fields of a profile except samples to the output of a replay
 * (reencode.h: a profile written again from the columns), as the profile's
 * original writer wrote them. If the output exceeds its maximum size, its flag
 * `over` is set.
 *
 * Ownership: all memory belongs to the struct replay.
 * Threads: one thread per replay.
 */
#ifndef PPROF_ROWS_REENCODE_FIELDS_H
#define PPROF_ROWS_REENCODE_FIELDS_H

#include "pprof/rows/reencode_private.h"

/* Whether the dialect packs `count` repeated numbers into one field. */
bool reencode_is_packed(const struct replay *r, size_t count);

/*
 * Write a message of type ValueType as the given field: texts[0] is the text
 * number of its type, texts[1] of its unit.
 */
void reencode_value_type(struct replay *r, unsigned field,
			 const uint32_t *texts);

/* Write the mappings of the row's profile, as listed in its layout. */
void reencode_mappings(struct replay *r);

/* Write the functions that were given an id since the last call. */
void reencode_functions(struct replay *r);

/*
 * Write the location with the index `place` in the dictionary; `id` is its id
 * in the profile. Functions to which the location refers get ids if they have
 * none.
 */
void reencode_location(struct replay *r, uint32_t place, uint32_t id);

/* Write all locations of the dictionary that have an id. */
void reencode_locations(struct replay *r);

/* Write a field with a number; a 0 is left out unless `always` is set. */
void reencode_number(struct replay *r, unsigned field, uint64_t v, bool always);

/* Write the comments of an operation (a field of the shape, layout.h). */
void reencode_comments(struct replay *r, const struct shape_op *op);

/*
 * Write the string table. It includes strings to which only later fields refer.
 */
void reencode_strings(struct replay *r);

#endif
