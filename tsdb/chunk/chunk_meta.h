/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunk metadata: times, totals and hashes of the profiles of a chunk (up to
 * 32), and the place of the chunk's stored bytes. Queries for times and totals
 * read nothing else. Format: docs/format/chunk-meta.md.
 *
 * Threads: pure functions.
 */
#ifndef TSDB_CHUNK_CHUNK_META_H
#define TSDB_CHUNK_CHUNK_META_H

#include "base/buf.h"
#include "base/err.h"

/*
 * Limits of a chunk: number of profiles, and bytes before compression. The
 * limits bound the cost of reading one profile (docs/decisions.md, 52).
 */
enum {
	CHUNK_PROFILES_MAX = 32,
	/* Limit in bytes. A larger profile is stored as a chunk of its own. */
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
 * Where to find the dictionary table that a chunk shares with the other chunks
 * of its stripe. The table is in the same file as the chunk.
 */
struct chunk_table {
	uint64_t offset;
	uint32_t len; /* length in bytes; 0: the chunk needs no table */
	uint32_t crc;
};

/* Where the stored bytes of a chunk are. */
struct chunk_place {
	uint32_t file; /* number of the values file in a block; 0 in a head */
	uint64_t offset;
	uint32_t len;
	uint32_t crc;
	struct chunk_table table;
	/*
	 * Reserved, always written as 0. In a later version, several chunks may
	 * be stored together as one group; this is then the index of the
	 * chunk's first profile in the group.
	 */
	uint32_t first;
};

/* The metadata of one chunk. */
struct chunk_meta {
	uint8_t codec;
	/* Number of the chunk's type set in the head or block. */
	uint32_t typeset;
	uint16_t count;
	uint16_t total_count; /* number of sample types */
	struct chunk_profile profiles[CHUNK_PROFILES_MAX];
	/*
	 * Totals, at index sample type * CHUNK_PROFILES_MAX + number of the
	 * profile. NULL: the totals are not decoded.
	 */
	int64_t *totals;
	struct chunk_place place;
};

/* Append the encoded metadata to `out`. */
void chunk_meta_encode(const struct chunk_meta *h, struct buf *out);

/*
 * Append the first part of the metadata: everything but the place. Writers use
 * it while the place of the stripe's table is not known yet.
 */
void chunk_meta_encode_front(const struct chunk_meta *h, struct buf *out);

/* Append the second part of the metadata: the place. */
void chunk_meta_encode_place(const struct chunk_place *p, struct buf *out);

/*
 * Decode metadata into *h. The caller must first set h->total_count to the
 * number of sample types in the chunk's type set (see chunk_meta_typeset()).
 * Totals are stored in h->totals unless it is NULL. ERR_CORRUPT: the bytes are
 * damaged.
 */
NODISCARD int chunk_meta_decode(struct bytes b, struct chunk_meta *h,
				struct err *err);

/*
 * Decode only the number of the type set. ERR_CORRUPT: the bytes are damaged.
 */
NODISCARD int chunk_meta_typeset(struct bytes b, uint32_t *out,
				 struct err *err);

/*
 * Decode only the times, into the array `ms` of CHUNK_PROFILES_MAX elements,
 * and set *count to their number. ERR_CORRUPT: the bytes are damaged.
 */
NODISCARD int chunk_meta_times(struct bytes b, int64_t *ms, size_t *count,
			       struct err *err);

/*
 * Find the profile with exactly the time `ms` and set *index to its number in
 * the chunk. Returns false if there is no such profile.
 */
bool chunk_meta_find(const struct chunk_meta *h, int64_t ms, uint16_t *index);

#endif
