/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats of a WAL segment: what a record says about a profile, and the
 * directory at the end of a sealed segment, which lists all its profiles so
 * that a start need not read them. Format: docs/format/segment.md.
 *
 * Ownership: entries borrow from the bytes that were parsed, or from the sample
 * that they describe.
 * Threads: pure functions; a segment_dir belongs to one thread.
 */
#ifndef TSDB_WAL_SEGMENT_FORMAT_H
#define TSDB_WAL_SEGMENT_FORMAT_H

#include "base/table.h"
#include "model/appender.h"
#include "tsdb/io/record.h"

/* Kinds of records, and the length of the footer in bytes. */
enum {
	SEGMENT_PROFILE = 1,
	SEGMENT_DIRECTORY = 2,
	SEGMENT_FOOTER = 16
};

/*
 * The part of a profile's record that replay needs, and that a directory has.
 */
struct segment_entry {
	uint64_t lsn;     /* LSN of the record's first byte */
	uint32_t len;     /* bytes of the record, padding included */
	uint32_t raw_len; /* bytes of the decompressed profile */
	int64_t ms;       /* time of the profile, milliseconds since 1970 */
	uint64_t hash;    /* hash of the decompressed profile */
	/* Encoded label set and encoded sample types. */
	struct bytes labels;
	struct bytes typeset;
};

/* Everything in a profile's record. */
struct segment_profile {
	struct segment_entry entry;
	int64_t duration_ns;
	int64_t period;
	uint64_t sample_count;
	struct bytes totals; /* one svarint for each sample type */
	size_t total_count;
	enum body_encoding encoding;
	/* The profile as received; empty if only the head was read. */
	struct bytes body;
};

/*
 * Append the record of sample s, to be written at lsn, to out. ERR_TOOBIG: the
 * body or the head exceeds a limit of the format, or the record the limit of
 * out.
 */
NODISCARD int segment_profile_encode(const struct sample *s, uint64_t salt,
				     uint64_t lsn, struct buf *out,
				     struct err *err);

/*
 * Decode a record as a profile; *out borrows from it. ERR_CORRUPT: another kind
 * of record, or its head is not that of a profile. The body is not checked: the
 * caller looks at r->body_ok.
 */
NODISCARD int segment_profile_decode(const struct record *r,
				     struct segment_profile *out,
				     struct err *err);

/*
 * Directory of a segment that is being written. The zero value is an empty one.
 * Label sets and type sets are stored once each and referred to by number;
 * offsets and times are stored as differences to the row before.
 */
struct segment_dir {
	/* Encoded rows, and how many there are. */
	struct buf rows;
	size_t count;
	/* Values of the last row, for the next difference. */
	uint64_t last_offset;
	int64_t last_ms;
	/*
	 * A table of distinct texts: text holds them one behind another, at[n]
	 * is where text n begins, index finds a text's number.
	 */
	struct segment_texts {
		struct buf text;
		size_t *at;
		size_t count;
		size_t cap;
		struct table index;
	} labels, typesets;
};

/* Add a profile. Entries must be added in the order of their LSNs. */
void segment_dir_add(struct segment_dir *d, const struct segment_entry *e);

/* Free the directory and reset it to an empty one. */
void segment_dir_fini(struct segment_dir *d);

/*
 * Append the directory's record, to be written at lsn, and the footer that
 * points to it, to out.
 */
void segment_dir_encode(const struct segment_dir *d, uint64_t salt,
			uint64_t lsn, struct buf *out);

/*
 * Decode a segment's last SEGMENT_FOOTER bytes. Sets *offset to where the
 * directory begins; false if there is no intact footer.
 */
bool segment_footer_decode(struct bytes footer, uint64_t salt,
			   uint64_t *offset);

/* Receives a profile; *e and its texts are valid during the call only. */
typedef void (*segment_entry_fn)(void *ctx, const struct segment_entry *e);

/*
 * Call fn for each profile in a directory's body; segment is the segment's
 * number. ERR_CORRUPT: the body is damaged, and fn has not been called.
 */
NODISCARD int segment_dir_decode(struct bytes body, uint64_t segment,
				 segment_entry_fn fn, void *ctx,
				 struct err *err);

#endif
