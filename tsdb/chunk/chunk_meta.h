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
	GROUP_PROFILES_MAX = 32,
	GROUP_BYTES_MAX = 2 * 1024 * 1024, /* raw, unless one alone is larger */
};

/* One profile of a group. */
struct head_profile {
	int64_t ms;
	int64_t duration_ns;
	int64_t period;
	uint64_t sample_count;
	uint64_t hash;
	uint32_t raw_len;
};

/* Where the table of a group's stripe is: in the same file. */
struct head_table {
	uint64_t offset;
	uint32_t len; /* 0: it has none */
	uint32_t crc;
};

/* Where a group's bytes are. */
struct head_place {
	uint32_t file;
	uint64_t offset;
	uint32_t len;
	uint32_t crc;
	struct head_table table;
	uint32_t first;
};

struct head {
	uint8_t codec;
	uint32_t typeset;
	uint16_t count;
	uint16_t total_count; /* sample types */
	struct head_profile profiles[GROUP_PROFILES_MAX];
	int64_t *totals; /* [type * GROUP_PROFILES_MAX + profile] */
	struct head_place place;
};

void head_encode(const struct head *h, struct buf *out);

/* The same in two parts: a stripe's table has its place when all is known. */
void head_encode_front(const struct head *h, struct buf *out);
void head_encode_place(const struct head_place *p, struct buf *out);

/*
 * Decode all but totals, which is left alone; total_count must be set by the
 * caller, who knows the type set: head_typeset() tells which one it is.
 */
NODISCARD int head_decode(struct bytes b, struct head *h, struct err *err);

/* The type set's number; ERR_CORRUPT. */
NODISCARD int head_typeset(struct bytes b, uint32_t *out, struct err *err);

/* Only the times, into ms[GROUP_PROFILES_MAX]. ERR_CORRUPT. */
NODISCARD int head_times(struct bytes b, int64_t *ms, size_t *count,
			 struct err *err);

/* Which of its profiles is of that time; false: none. */
bool head_find(const struct head *h, int64_t ms, uint16_t *index);

#endif
