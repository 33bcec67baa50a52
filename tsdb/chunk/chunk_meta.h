/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunk metadata: everything about the up to 32 profiles of a chunk except
 * their bytes: times, totals, hashes, and where the stored bytes are. Queries
 * for times and totals read nothing else. Format: docs/format/chunk-meta.md.
 *
 * Ownership: totals are the caller's array.
 * Threads: pure functions.
 */
#ifndef TSDB_CHUNK_CHUNK_META_H
#define TSDB_CHUNK_CHUNK_META_H

#include "base/buf.h"
#include "base/err.h"

/*
 * Limits of a chunk: number of profiles, and bytes before compression. They
 * bound what reading one profile costs (docs/decisions.md, 52).
 */
enum {
	CHUNK_PROFILES_MAX = 32,
	/* Unless one profile alone is larger. */
	CHUNK_BYTES_MAX = 2 * 1024 * 1024,
};

/* One profile of a chunk. */
struct chunk_profile {
	int64_t ms; /* time in milliseconds since 1970 */
	int64_t duration_ns;
	int64_t period;
	uint64_t sample_count;
	/* Hash and length of the profile's uncompressed bytes. */
	uint64_t hash;
	uint32_t raw_len;
};

/*
 * Where the dictionary table of a chunk's stripe is, in the same file as the
 * chunk.
 */
struct chunk_table {
	uint64_t offset;
	uint32_t len; /* 0: the chunk needs no table */
	uint32_t crc;
};

/* Where the stored bytes of a chunk are. */
struct chunk_place {
	uint32_t file; /* number of the values file in a block; 0 in a head */
	uint64_t offset;
	uint32_t len;
	uint32_t crc;
	struct chunk_table table;
	/* Index of this chunk's first profile in the stored group. */
	uint32_t first;
};

/* The metadata of one chunk. */
struct chunk_meta {
	uint8_t codec;
	uint32_t typeset; /* number of the sample types in the head or block */
	uint16_t count;
	uint16_t total_count; /* number of sample types */
	struct chunk_profile profiles[CHUNK_PROFILES_MAX];
	/* [type * CHUNK_PROFILES_MAX + profile]; NULL: not wanted. */
	int64_t *totals;
	struct chunk_place place;
};

/* Append the encoded metadata to out. */
void chunk_meta_encode(const struct chunk_meta *h, struct buf *out);

/*
 * Append the first part of the metadata: everything but the place. It is
 * written apart when the place of the stripe's table is not known yet.
 */
void chunk_meta_encode_front(const struct chunk_meta *h, struct buf *out);

/* Append the second part of the metadata: the place. */
void chunk_meta_encode_place(const struct chunk_place *p, struct buf *out);

/*
 * Decode metadata into *h, whose total_count the caller must set first; it
 * follows from the type set, which chunk_meta_typeset() gives. Totals are
 * stored in h->totals unless that is NULL. ERR_CORRUPT: the bytes are damaged.
 */
NODISCARD int chunk_meta_decode(struct bytes b, struct chunk_meta *h,
				struct err *err);

/*
 * Decode only the number of the type set. ERR_CORRUPT: the bytes are damaged.
 */
NODISCARD int chunk_meta_typeset(struct bytes b, uint32_t *out,
				 struct err *err);

/*
 * Decode only the times, into ms[CHUNK_PROFILES_MAX], and their number.
 * ERR_CORRUPT: the bytes are damaged.
 */
NODISCARD int chunk_meta_times(struct bytes b, int64_t *ms, size_t *count,
			       struct err *err);

/*
 * Find the profile at exactly this time and set *index to its number in the
 * chunk. False: there is none.
 */
bool chunk_meta_find(const struct chunk_meta *h, int64_t ms, uint16_t *index);

#endif
