/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the scanner share. No file outside of them includes it.
 *
 * Ownership, threads: those of the scanner (scan.h).
 */
#ifndef PPROF_PROTO_SCAN_PRIVATE_H
#define PPROF_PROTO_SCAN_PRIVATE_H

#include "pprof/legacy/legacy.h"
#include "pprof/scan.h"
#include "pprof/wire/fields.h"
#include "pprof/wire/idmap.h"
#include "pprof/wire/wire.h"

/* Functions of lines that are kept to be looked up; more take a second walk. */
#define LINES_KEPT MIB

/* A value type by string indexes. */
struct scan_type_names {
	uint64_t type;
	uint64_t unit;
};

struct scanner {
	struct idmap mappings;
	struct idmap functions;
	struct idmap locations;
	uint64_t *line_functions; /* referred to by lines */
	size_t line_count;
	size_t line_cap;
	bool sealed;     /* the tables are complete */
	bool lines_left; /* too many to keep: looked at once more */
	uint64_t string_count;
	uint64_t max_string; /* the highest index referred to */

	struct scan_type_names types[TYPES_MAX];
	size_t type_count;
	struct scan_type_names period_type;
	uint64_t default_type;
	uint64_t lone[PROFILE_DOC_URL + 1]; /* drop and keep frames, URL */

	const char *why; /* the first reason to refuse */
	bool concatenated;
	struct legacy *legacy; /* made when first needed */
	struct scan *out;
};

static inline bool scan_refuse(struct scanner *s, const char *why)
{
	if (!s->why)
		s->why = why;
	return false;
}

/* A number field: anything but a varint is refused, as Go does. */
static inline bool scan_number(struct scanner *s, const struct wire_field *f,
			       uint64_t *out)
{
	if (f->type != WIRE_VARINT)
		return scan_refuse(s, "a field has the wrong wire type");
	*out = f->value;
	return true;
}

static inline bool scan_message(struct scanner *s, const struct wire_field *f,
				struct wire *out)
{
	if (f->type != WIRE_BYTES)
		return scan_refuse(s, "a field has the wrong wire type");
	*out = wire_init(f->bytes);
	return true;
}

static inline bool scan_ended(struct scanner *s, const struct wire *w)
{
	return w->bad ? scan_refuse(s, "a field is damaged or cut short") :
			true;
}

static inline void scan_refer(struct scanner *s, uint64_t string)
{
	if (string > s->max_string)
		s->max_string = string;
}

#endif
