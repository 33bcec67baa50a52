/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A part is a head or a block: one interface for code that reads heads and
 * blocks in the same way. A series is identified by a number within its part.
 * In a head this is the index of the series; in a block it is the series
 * reference of the index file.
 *
 * Ownership: a struct part holds no reference by itself; see part_ref().
 * Threads: any.
 */
#ifndef TSDB_BLOCK_PART_H
#define TSDB_BLOCK_PART_H

#include "base/limits.h"
#include "tsdb/block/block.h"
#include "tsdb/head/head.h"

/* A head or a block: exactly one of the two members is set. */
struct part {
	struct head *head;
	struct block *block;
};

/* Take a reference on the head or block, and return p. */
struct part part_ref(struct part p);

/* Release a reference taken by part_ref(). */
void part_unref(struct part p);

/*
 * Whether the disk could not read some of the part's files: then its directory
 * is set aside, and not removed, when a block replaces it.
 */
bool part_is_unread(struct part p);

/* The earliest time, in ms, that a profile of the part can have. */
int64_t part_min(struct part p);

/* The latest time, in ms, that a profile of the part can have (inclusive). */
int64_t part_max(struct part p);

/*
 * A selection: the series that all matchers match and that have data in [from,
 * to], in ms.
 */
struct selection {
	const struct matcher *matchers;
	size_t count; /* number of matchers; 0: all series match */
	int64_t from;
	int64_t to;
	/* asked while the selection runs; the zero value permits everything */
	struct limits limits;
};

/*
 * Add the numbers of the series that match the selection to `out`, which the
 * caller frees. A block returns ERR_CORRUPT or ERR_IO if its index cannot be
 * read. Other errors are those of s->limits, and ERR_INVALID if a regular
 * expression takes too many steps.
 */
NODISCARD int part_select(struct part p, const struct selection *s,
			  struct postings *out, struct err *err);

/*
 * Call fn for each value of the label name `name`, or for each label name if
 * `name` is empty. The texts are valid only during the call. ERR_CORRUPT, ERR_IO: the index of a block cannot be read.
 */
NODISCARD int part_texts(struct part p, struct str name, index_text_fn fn,
			 void *ctx, struct err *err);

/*
 * Set *out to the label set of a series; the caller owns the reference.
 * ERR_CORRUPT, ERR_IO: the index of a block cannot be read.
 */
NODISCARD int part_labels(struct part p, uint32_t series, struct labels **out,
			  struct err *err);

/*
 * Set *series to the number of the series with exactly these labels.
 * ERR_NOTFOUND: the part has no such series. ERR_CORRUPT, ERR_IO: the index of
 * a block cannot be read.
 */
NODISCARD int part_find(struct part p, const struct labels *ls,
			uint32_t *series, struct err *err);

/*
 * Add the times of the profiles of a series in [from, to] to `out`, without
 * profiles that are hidden by tombstones. Only chunk metadata is read, no
 * profile.
 */
NODISCARD int part_times(struct part p, uint32_t series, int64_t from,
			 int64_t to, struct times *out, struct err *err);

/*
 * Find the profile of a series at exactly the time `ms`. ERR_NOTFOUND: there
 * is no such profile. If the profile is only in the WAL, out->segment is set to
 * its WAL segment, with a reference, so that the segment stays readable even if
 * a flush removes it. `wal` may be NULL if the bytes are not needed.
 */
NODISCARD int part_lookup(struct part p, uint32_t series, int64_t ms,
			  struct wal *wal, struct part_hit *out,
			  struct err *err);

/*
 * Set *out to the flushed chunks of a series that overlap [from, to], and the
 * tombstone intervals that hide parts of them. Unflushed profiles are not
 * included. The caller frees *out with chunks_fini().
 */
NODISCARD int part_groups(struct part p, uint32_t series, int64_t from,
			  int64_t to, struct chunks *out, struct err *err);

/*
 * Return the functions that read the chunk metadata of this part. They borrow
 * the part.
 */
struct chunk_source part_source(struct part p);

/*
 * Return the file with the values of a chunk, borrowed from the part; NULL if
 * the block has no such file or could not open it.
 */
const struct file *part_values(struct part p, const struct chunk_meta *h);

#endif
