/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Head of a group: everything about up to 32 profiles but their bytes.
 * Format: docs/format/head.md.
 *
 * Ownership: totals are the caller's array.
 * Threads: pure functions.
 */
#ifndef TSDB_CHUNK_CHUNK_META_H
#define TSDB_CHUNK_CHUNK_META_H

#include "base/buf.h"
#include "base/err.h"

enum {
	CHUNK_PROFILES_MAX = 32,
	CHUNK_BYTES_MAX = 2 * 1024 * 1024, /* raw, unless one alone is larger */
};

/* One profile of a group. */
struct chunk_profile {
	int64_t ms;
	int64_t duration_ns;
	int64_t period;
	uint64_t sample_count;
	uint64_t hash;
	uint32_t raw_len;
};

/* Where the table of a group's stripe is: in the same file. */
struct chunk_table {
	uint64_t offset;
	uint32_t len; /* 0: it has none */
	uint32_t crc;
};

/* Where a group's bytes are. */
struct chunk_place {
	uint32_t file;
	uint64_t offset;
	uint32_t len;
	uint32_t crc;
	struct chunk_table table;
	uint32_t first;
};

struct chunk_meta {
	uint8_t codec;
	uint32_t typeset;
	uint16_t count;
	uint16_t total_count; /* sample types */
	struct chunk_profile profiles[CHUNK_PROFILES_MAX];
	int64_t *totals; /* [type * GROUP_PROFILES_MAX + profile] */
	struct chunk_place place;
};

void chunk_meta_encode(const struct chunk_meta *h, struct buf *out);

/* The same in two parts: a stripe's table has its place when all is known. */
void chunk_meta_encode_front(const struct chunk_meta *h, struct buf *out);
void chunk_meta_encode_place(const struct chunk_place *p, struct buf *out);

/*
 * Decode all but totals, which is left alone; total_count must be set by the
 * caller, who knows the type set: chunk_meta_typeset() tells which one it is.
 */
NODISCARD int chunk_meta_decode(struct bytes b, struct chunk_meta *h,
				struct err *err);

/* The type set's number; ERR_CORRUPT. */
NODISCARD int chunk_meta_typeset(struct bytes b, uint32_t *out,
				 struct err *err);

/* Only the times, into ms[GROUP_PROFILES_MAX]. ERR_CORRUPT. */
NODISCARD int chunk_meta_times(struct bytes b, int64_t *ms, size_t *count,
			       struct err *err);

/* Which of its profiles is of that time; false: none. */
bool chunk_meta_find(const struct chunk_meta *h, int64_t ms, uint16_t *index);

#endif
