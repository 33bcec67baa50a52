/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats of a WAL segment: the contents of a record, which has one profile,
 * and the directory at the end of a sealed segment, which lists all its
 * profiles so that startup need not read every record. Format:
 * docs/format/segment.md.
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
	SEGMENT_RESEND =
		3, /* a profile that is stored; see wal_append_resend() */
	SEGMENT_FOOTER = 16
};

/*
 * A profile, as replay (reading the WAL at startup) needs it. The profile's
 * record contains these values, and the directory of the segment repeats them.
 */
struct segment_entry {
	uint64_t lsn;     /* LSN of the record's first byte */
	uint32_t len;     /* size of the record in bytes, with padding */
	uint32_t raw_len; /* size of the decompressed profile in bytes */
	int64_t ms;       /* time of the profile, milliseconds since 1970 */
	uint64_t hash;    /* hash of the decompressed profile */
	/* Encoded label set, and encoded sample types (the type set). */
	struct bytes labels;
	struct bytes typeset;
};

/* Everything in a profile's record. */
struct segment_profile {
	struct segment_entry entry;
	uint64_t number; /* see struct segment_numbers; 0: not known */
	int64_t duration_ns;
	int64_t period;
	uint64_t sample_count;
	/* Encoded totals: one svarint for each sample type. */
	struct bytes totals;
	size_t total_count;
	enum body_encoding encoding;
	/*
	 * The profile's bytes as received; empty if only the record's head was
	 * read.
	 */
	struct bytes body;
};

/*
 * The numbers of the profiles in a segment. Each record with a profile has a
 * number, one more than the record before it, whichever segment that is in. So a
 * reader knows how many profiles are missing between two.
 */
struct segment_numbers {
	uint64_t first; /* 0: there are none, or they are not known */
	uint64_t next;  /* one more than the last */
};

/* What a record is besides its profile. */
struct segment_place {
	uint8_t kind; /* SEGMENT_PROFILE or SEGMENT_RESEND */
	uint64_t number;
	uint64_t lsn; /* where the record is to be written */
	/*
	 * the segment's salt, a number that the checksum of each record's head
	 * includes
	 */
	uint64_t salt;
};

/*
 * Encode sample s as a record and append the record to `out`. ERR_TOOBIG: the
 * body or the head exceeds a limit of the format, or the record exceeds the
 * limit of `out`.
 */
NODISCARD int segment_profile_encode(const struct sample *s,
				     const struct segment_place *at,
				     struct buf *out, struct err *err);

/*
 * Decode a record as a profile; *out borrows from the record. ERR_CORRUPT: the
 * record has no profile, or its head is damaged. A damaged body is no
 * error: the caller checks r->body_ok.
 */
NODISCARD int segment_profile_decode(const struct record *r,
				     struct segment_profile *out,
				     struct err *err);

/*
 * Return the sample that a profile is, without labels. `totals` has room for
 * TYPES_MAX values, and is filled; the sample borrows both.
 */
struct sample segment_profile_sample(const struct segment_profile *p,
				     int64_t *totals);

/*
 * Directory of a segment that is being written. The directory has one row for
 * each profile. A row has the numbers of the profile's label set and type set,
 * each of which is stored only once, and stores offset and time as differences
 * to the previous row. The zero value is an empty directory.
 */
struct segment_dir {
	struct segment_numbers numbers;
	/* Encoded rows, and their number. */
	struct buf rows;
	size_t count;
	/*
	 * Record offset and time of the last row; the next row stores its
	 * differences to them.
	 */
	uint64_t last_offset;
	int64_t last_ms;
	/*
	 * A table of distinct texts: `text` holds all texts, encoded one after
	 * another; at[n] is the offset of text n in `text`; the hash table
	 * `index` finds the number of a text.
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

/* Note that the segment has a profile with this number, in order. */
void segment_dir_number(struct segment_dir *d, uint64_t number);

/* Free the directory and reset it to an empty one. */
void segment_dir_fini(struct segment_dir *d);

/*
 * Append to `out` the directory's record, which must be written at position
 * `lsn`, and the footer, which points to the directory.
 */
void segment_dir_encode(const struct segment_dir *d, uint64_t salt,
			uint64_t lsn, struct buf *out);

/*
 * Decode a segment's last SEGMENT_FOOTER bytes, and set *offset to where the
 * directory begins. Returns false if there is no intact footer.
 */
bool segment_footer_decode(struct bytes footer, uint64_t salt,
			   uint64_t *offset);

/*
 * Callback that receives a profile; *e and the bytes that *e borrows are valid
 * during the call only.
 */
typedef void (*segment_entry_fn)(void *ctx, const struct segment_entry *e);

/*
 * Call fn for each profile in a directory's body, and set *numbers; `segment` is
 * the number of the segment. ERR_CORRUPT: the body is damaged, and fn has not
 * been called.
 */
NODISCARD int segment_dir_decode(struct bytes body, uint64_t segment,
				 segment_entry_fn fn, void *ctx,
				 struct segment_numbers *numbers,
				 struct err *err);

#endif
