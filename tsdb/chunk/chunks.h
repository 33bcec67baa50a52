/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chunks of one series, and functions that read their metadata, whether it
 * is stored in a head's log or in the chunk files of a block.
 *
 * Ownership: chunks_fini() and times_fini() free what the lists own.
 * Threads: one thread per list.
 */
#ifndef TSDB_CHUNK_CHUNKS_H
#define TSDB_CHUNK_CHUNKS_H

#include "tsdb/chunk/chunk_meta.h"

/*
 * A chunk: the times of its first and last profile in ms, and the place of its
 * metadata, which is an offset in a head's log or a chunk reference in a block.
 */
struct chunk {
	int64_t first;
	int64_t last;
	uint64_t at;
	/*
	 * Size in bytes of the log record with the metadata; 0 in a block,
	 * where the chunk file states the size.
	 */
	uint32_t len;
};

/*
 * Tombstone interval: a deletion hides the profiles with times in [from, to]
 * that were stored before the deletion. A profile that is stored again
 * afterwards is visible. To tell whether a profile was stored before: for an
 * unflushed profile, its LSN is compared with `lsn`; for a profile in a chunk,
 * the place of the chunk's metadata is compared with `at`.
 */
struct tombstone_interval {
	int64_t from;
	int64_t to;
	uint64_t lsn; /* profiles with an LSN greater than this are visible */
	/* Chunks with metadata at or after this place are visible. */
	uint64_t at;
};

/* Chunks of a series and its tombstone intervals. The zero value is empty. */
struct chunks {
	struct chunk *v;
	size_t count;
	size_t cap;
	/* The tombstone intervals, in any order. */
	struct tombstone_interval *gaps;
	size_t gap_count;
	size_t gap_cap;
};

/* Append a copy of the chunk *v. */
void chunks_add(struct chunks *g, const struct chunk *v);

/* Append a copy of the tombstone interval *v. */
void chunks_add_tombstone(struct chunks *g, const struct tombstone_interval *v);

/* Free both lists and reset *g to an empty list. */
void chunks_fini(struct chunks *g);

/*
 * Whether a tombstone interval hides the profile that has time `ms` and is in
 * the chunk whose metadata is at place `at`.
 */
bool chunks_hides(const struct chunks *g, uint64_t at, int64_t ms);

/*
 * The callbacks with which a head or block gives access to the metadata of its
 * chunks.
 */
struct chunk_source {
	void *ctx;
	const char *path; /* of the head or block, for messages */
	/*
	 * Whether the position of a chunk has the number of a file in its upper
	 * half, as in a block. Messages then name this file.
	 */
	bool numbered;

	/*
	 * Read a chunk's encoded metadata and verify its checksum. *out borrows
	 * from `scratch`. ERR_CORRUPT, ERR_IO.
	 */
	int (*meta)(void *ctx, const struct chunk *g, struct buf *scratch,
		    struct bytes *out, struct err *err);

	/*
	 * Return the type set with this number, borrowed from the head or
	 * block; empty if the number is unknown.
	 */
	struct bytes (*typeset)(void *ctx, uint32_t number);

	/*
	 * Log and count a chunk that is left out of an answer because its
	 * metadata cannot be read.
	 */
	void (*damaged)(void *ctx, const struct chunk *g,
			const struct err *err);
};

/*
 * Put the file and the offset of a chunk's metadata before the message of *err,
 * and return rc.
 */
int chunk_name_meta(const struct chunk_source *s, const struct chunk *g, int rc,
		    struct err *err);

/*
 * Read and decode a chunk's metadata. Totals are decoded if h->totals is not
 * NULL. *typeset (may be NULL) borrows from the source. ERR_CORRUPT, ERR_IO.
 */
NODISCARD int chunk_read_meta(const struct chunk_source *s,
			      const struct chunk *g, struct chunk_meta *h,
			      struct bytes *typeset, struct err *err);

/* A growing list of times of profiles, in ms. The zero value is empty. */
struct times {
	int64_t *v;
	size_t count;
	size_t cap;
	uint64_t lost;  /* number of chunks that could not be read */
	struct err why; /* error of the first chunk counted in `lost` */
};

/* Append a time in milliseconds. */
void times_add(struct times *t, int64_t ms);

/* Free the list and reset it to an empty one. */
void times_fini(struct times *t);

/*
 * Append to `out`, in any order, the times in [from, to] of the profiles that
 * no tombstone interval hides. Chunks whose metadata is damaged, or cannot be
 * read from disk, are reported to s->damaged(), counted in out->lost, and left
 * out. Other errors of the source are returned.
 */
NODISCARD int chunks_times(const struct chunk_source *s, const struct chunks *g,
			   int64_t from, int64_t to, struct times *out,
			   struct err *err);

/*
 * A profile that was found: the metadata of its chunk, and its number in the
 * chunk.
 */
struct chunk_hit {
	struct chunk_meta meta; /* metadata of the chunk, without totals */
	uint16_t index;         /* number of the profile in the chunk */
	struct bytes typeset;
};

/*
 * Find the profile with time `ms` that no tombstone interval hides.
 * ERR_NOTFOUND: there is none. ERR_CORRUPT, ERR_IO: no profile was found, but a
 * chunk that may contain it could not be read.
 */
NODISCARD int chunks_find(const struct chunk_source *s, const struct chunks *g,
			  int64_t ms, struct chunk_hit *out, struct err *err);

#endif
