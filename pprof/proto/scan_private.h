/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the scanner share; no other file includes this header.
 *
 * Functions that return bool return false for a profile that is refused; the
 * reason is then in the scanner's `why`.
 *
 * Ownership: as described in pprof/scan.h.
 * Threads: as described in pprof/scan.h.
 */
#ifndef PPROF_PROTO_SCAN_PRIVATE_H
#define PPROF_PROTO_SCAN_PRIVATE_H

#include "pprof/legacy/legacy.h"
#include "pprof/scan.h"
#include "pprof/wire/fields.h"
#include "pprof/wire/id_index.h"
#include "pprof/wire/wire.h"

/*
 * Function ids of lines that are kept until all functions are known. The
 * locations of a profile with more lines are walked a second time.
 */
#define LINES_KEPT MIB

/* A value type, as indexes of strings. */
struct scan_type_names {
	uint64_t type;
	uint64_t unit;
};

/* The state of a scanner. */
struct scanner {
	struct id_index mappings; /* ids, by table */
	struct id_index functions;
	struct id_index locations;
	uint64_t *line_functions; /* function ids of lines */
	size_t line_count;
	size_t line_cap;
	bool sealed;     /* all tables are read */
	bool lines_left; /* more lines than LINES_KEPT */
	uint64_t string_count;
	uint64_t max_string; /* highest string index referred to */

	struct scan_type_names types[TYPES_MAX];
	size_t type_count;
	struct scan_type_names period_type;
	uint64_t default_type;
	/* String indexes by field: drop and keep frames, doc URL. */
	uint64_t lone[PROFILE_DOC_URL + 1];

	const char *why;       /* the first reason to refuse the profile */
	bool concatenated;     /* more than one profile in the input */
	struct legacy *legacy; /* NULL until needed */
	struct scan *out;
};

/*
 * Records why the profile is refused, unless a reason is known already, and
 * returns false. why is a static string.
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
 * Notes that a string index is referred to; scan_strings() checks the highest
 * one.
 */
static inline void scan_refer(struct scanner *s, uint64_t string)
{
	if (string > s->max_string)
		s->max_string = string;
}

#endif
