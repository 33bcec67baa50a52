/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reader of profile.proto: walks over the bytes of a profile, decides whether it
 * is valid, and passes its parts on to functions of the caller.
 *
 * It decides as google/pprof does (proto.go's decoder, encode.go's postDecode,
 * profile.go's CheckValid), except that it refuses more than 256 sample types.
 * Tables may have any order in the input, and samples may come before them, so
 * there are two walks: one over everything but samples, one over samples.
 * Source: github.com/google/pprof/profile.
 *
 * Ownership: a reader is a part of its user's struct, which calls
 * proto_reader_fini(). Bytes that are passed on are borrowed from the input.
 * Threads: one thread per reader.
 */
#ifndef PPROF_PROTO_PROTO_READER_H
#define PPROF_PROTO_PROTO_READER_H

#include "base/wire.h"
#include "pprof/proto/fields.h"
#include "pprof/proto/id_index.h"

/*
 * The functions that receive the parts of a profile, in the order of the input;
 * NULL: the part is checked, but not passed on. Each returns false after
 * proto_reader_refuse(). Texts are indexes of strings, which the reader checks
 * at the end; ids of other tables can be looked up once sealed() is called.
 */
struct proto_parts {
	bool (*type)(void *ctx, uint64_t type, uint64_t unit);
	bool (*mapping)(void *ctx, const uint64_t v[MAPPING_FIELDS]);
	bool (*function)(void *ctx, const uint64_t v[FUNCTION_FIELDS]);
	/* a line comes before its location, whose numbers are at their fields */
	bool (*line)(void *ctx, const uint64_t v[LINE_FIELDS]);
	bool (*location)(void *ctx, const uint64_t v[LOCATION_FOLDED + 1]);
	bool (*string)(void *ctx, struct bytes text);
	bool (*comment)(void *ctx, uint64_t text);
	/* all tables are read */
	bool (*sealed)(void *ctx);
	/* one location of a sample, or several up to the end of `ids` */
	bool (*frame)(void *ctx, uint64_t id);
	bool (*frames)(void *ctx, struct wire *ids);
	/* value number `i` of a sample, which belongs to that sample type */
	bool (*value)(void *ctx, size_t i, uint64_t value);
	bool (*label)(void *ctx, const uint64_t v[LABEL_FIELDS]);
	/* the end of a sample */
	bool (*sample)(void *ctx);
};

/*
 * The fields of a profile that are single. If one is repeated, its last value
 * counts. All but the first three are indexes of strings.
 */
struct proto_header {
	int64_t time_ns;
	int64_t duration_ns;
	int64_t period;
	uint64_t period_type[2]; /* type and unit */
	uint64_t drop_frames;
	uint64_t keep_frames;
	uint64_t default_type;
	uint64_t doc_url;
};

/* A reader. The zero value with `parts` and `ctx` can be used. */
struct proto_reader {
	const struct proto_parts *parts;
	void *ctx;
	struct id_index mappings; /* the ids that exist, one map per table */
	struct id_index functions;
	struct id_index locations;
	struct proto_header header;
	size_t type_count;
	uint64_t string_count;
	uint64_t max_string; /* highest index of a string that is referred to */
	const char *why;     /* the first reason to refuse the profile */
	bool sealed;         /* all tables are read */
	bool lines_again;    /* the second walk passes lines on, too */
	bool concatenated;   /* the input has several profiles */
};

/*
 * Read a profile. False: it is refused, and `why` says why. What was read of the
 * profile before is forgotten.
 */
bool proto_reader_run(struct proto_reader *r, struct bytes raw);

/*
 * Record why the profile is refused, a static text, unless a reason is known
 * already; return false.
 */
bool proto_reader_refuse(struct proto_reader *r, const char *why);

/* Refuse a sample whose location is missing; return false. */
bool proto_reader_refuse_location(struct proto_reader *r);

/* Refuse a line whose function is missing; return false. */
bool proto_reader_refuse_line(struct proto_reader *r);

/* Return whether a message was read to its end; refuse it otherwise. */
static inline bool proto_reader_ended(struct proto_reader *r,
				      const struct wire *w)
{
	return !w->bad ||
	       proto_reader_refuse(r, "a field is damaged or truncated");
}

/* Return the memory of the reader, in bytes. */
size_t proto_reader_memory(const struct proto_reader *r);

/* Free the memory of the reader. */
void proto_reader_fini(struct proto_reader *r);

#endif
