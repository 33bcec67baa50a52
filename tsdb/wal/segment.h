/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WAL segments: what a record says of a profile, and the directory that ends
 * a sealed segment. Format: docs/format/segment.md.
 *
 * Ownership: entries borrow from the bytes that were parsed, or from the
 * sample that they describe.
 * Threads: pure functions; a segment_dir belongs to one thread.
 */
#ifndef TSDB_WAL_SEGMENT_H
#define TSDB_WAL_SEGMENT_H

#include "base/table.h"
#include "model/appender.h"
#include "tsdb/io/record.h"

enum {
	SEGMENT_PROFILE = 1,
	SEGMENT_DIRECTORY = 2,
	SEGMENT_FOOTER = 16
};

/* What replay needs of a profile. */
struct segment_entry {
	uint64_t lsn;     /* of its record */
	uint32_t len;     /* of its record, padding included */
	uint32_t raw_len; /* decompressed */
	int64_t ms;
	uint64_t hash;
	struct bytes labels;
	struct bytes typeset;
};

/* All that a profile's record says. */
struct segment_profile {
	struct segment_entry entry;
	int64_t duration_ns;
	int64_t period;
	uint64_t sample_count;
	struct bytes totals; /* svarints */
	size_t total_count;
	enum body_encoding encoding;
	struct bytes body;
};

/* Append a profile's record to out. ERR_TOOBIG: over a limit of the format. */
NODISCARD int segment_profile_encode(const struct sample *s, uint64_t salt,
				     uint64_t lsn, struct buf *out,
				     struct err *err);

/* ERR_CORRUPT when the record is not a whole profile. */
NODISCARD int segment_profile_decode(const struct record *r,
				     struct segment_profile *out,
				     struct err *err);

/* The directory of a segment under way; the zero value is an empty one. */
struct segment_dir {
	struct buf rows;
	size_t count;
	uint64_t last_offset;
	int64_t last_ms;
	struct segment_texts {
		struct buf text;
		size_t *at;
		size_t count;
		size_t cap;
		struct table index;
	} labels, typesets;
};

void segment_dir_add(struct segment_dir *d, const struct segment_entry *e);
void segment_dir_fini(struct segment_dir *d);

/* Append the directory's record, to stand at lsn, and the footer. */
void segment_dir_encode(const struct segment_dir *d, uint64_t salt,
			uint64_t lsn, struct buf *out);

/* Where the footer says that the directory is; false when there is none. */
bool segment_footer_decode(struct bytes footer, uint64_t salt,
			   uint64_t *offset);

typedef void (*segment_entry_fn)(void *ctx, const struct segment_entry *e);

/* Call fn for each profile of a directory's body, all of it being whole. */
NODISCARD int segment_dir_decode(struct bytes body, uint64_t segment,
				 segment_entry_fn fn, void *ctx,
				 struct err *err);

#endif
