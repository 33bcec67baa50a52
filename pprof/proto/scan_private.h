/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations that the files of the scanner (the check of profile.proto)
 * share. No other file includes this header.
 *
 * Functions that return bool return false for a profile that is refused; the
 * reason is then in the scanner's `why`.
 *
 * Ownership: as described in pprof/proto/scan.h.
 * Threads: as described in pprof/proto/scan.h.
 */
#ifndef PPROF_PROTO_SCAN_PRIVATE_H
#define PPROF_PROTO_SCAN_PRIVATE_H

#include "base/wire.h"
#include "pprof/legacy/legacy.h"
#include "pprof/proto/fields.h"
#include "pprof/proto/id_index.h"
#include "pprof/proto/scan.h"

/*
 * Largest number of lines whose function ids are kept until all functions are
 * known. If a profile has more lines, its locations are read a second time.
 */
#define LINES_KEPT MIB

/* A value type: the string indexes of its name and unit. */
struct scan_type_names {
	uint64_t type;
	uint64_t unit;
};

/* The state of a scanner. */
struct scanner {
	struct id_index mappings; /* the ids that exist, one map per table */
	struct id_index functions;
	struct id_index locations;
	uint64_t *line_functions; /* function ids that lines refer to */
	size_t line_count;
	size_t line_cap;
	bool sealed;     /* whether all tables are read */
	bool lines_left; /* whether there are more lines than LINES_KEPT */
	uint64_t string_count;
	uint64_t max_string; /* highest string index referred to */

	struct scan_type_names types[TYPES_MAX];
	size_t type_count;
	struct scan_type_names period_type;
	uint64_t default_type;
	/*
	 * String indexes of drop_frames, keep_frames and doc_url, each at its
	 * field number.
	 */
	uint64_t lone[PROFILE_DOC_URL + 1];

	const char *why;       /* the first reason to refuse the profile */
	bool concatenated;     /* whether the input has several profiles */
	struct legacy *legacy; /* parser of legacy formats; NULL until needed */
	struct scan *out;
};

/*
 * Records why the profile is refused, unless a reason is known already, and
 * returns false. `why` is a static string.
 */
static inline bool scan_refuse(struct scanner *s, const char *why)
{
	if (!s->why)
		s->why = why;
	return false;
}

/* Reads a number field. Refuses every wire type but varint, as pprof does. */
static inline bool scan_number(struct scanner *s, const struct wire_field *f,
			       uint64_t *out)
{
	if (f->type != WIRE_VARINT)
		return scan_refuse(s, "a field has the wrong wire type");
	*out = f->value;
	return true;
}

/*
 * Starts reading the contents of a length-delimited field; refuses other wire
 * types.
 */
static inline bool scan_message(struct scanner *s, const struct wire_field *f,
				struct wire *out)
{
	if (f->type != WIRE_BYTES)
		return scan_refuse(s, "a field has the wrong wire type");
	*out = wire_init(f->bytes);
	return true;
}

/* Returns whether a message was read to its end without an error. */
static inline bool scan_ended(struct scanner *s, const struct wire *w)
{
	return w->bad ? scan_refuse(s, "a field is damaged or truncated") :
			true;
}

/*
 * Records that a string index is referred to; scan_strings() checks the highest
 * index.
 */
static inline void scan_refer(struct scanner *s, uint64_t string)
{
	if (string > s->max_string)
		s->max_string = string;
}

#endif
