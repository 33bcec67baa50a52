/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tombstones of a block: the intervals of time in which its profiles were
 * deleted, in Prometheus' file format (docs/format/block.md).
 *
 * Ownership: reference counted.
 * Threads: immutable once shared.
 */
#ifndef TSDB_BLOCK_TOMBSTONES_H
#define TSDB_BLOCK_TOMBSTONES_H

#include <stdatomic.h>

#include "base/buf.h"
#include "base/err.h"
#include "tsdb/chunk/chunks.h"

/* The profiles of one series in [from, to] are deleted. */
struct tombstone {
	uint32_t ref; /* reference of the series in the block's index */
	int64_t from;
	int64_t to; /* inclusive */
};

/* All tombstones of a block. */
struct tombstones {
	_Atomic uint32_t refs;
	struct tombstone *v; /* sorted by series and time, and disjoint */
	size_t count;
	size_t cap;
};

/* An empty list; the caller owns the reference. */
struct tombstones *tombstones_new(void);

/* Take a reference and return `t`. */
struct tombstones *tombstones_ref(struct tombstones *t);

/* Release a reference; the last one frees the list. NULL is a no-op. */
void tombstones_unref(struct tombstones *t);

/* A copy, to which the caller may add; the caller owns the reference. */
struct tombstones *tombstones_copy(const struct tombstones *t);

/* Add an interval. tombstones_sort() must be called after the last one. */
void tombstones_add(struct tombstones *t, uint32_t ref, int64_t from,
		    int64_t to);

/*
 * Sort the list, and join intervals of a series that overlap or are adjacent.
 */
void tombstones_sort(struct tombstones *t);

/*
 * Add the tombstone intervals of a series to *out. An interval hides every
 * profile of the series in it: no profiles are added to a block, so all of them
 * were stored before the deletion.
 */
void tombstones_gaps(const struct tombstones *t, uint32_t ref,
		     struct chunks *out);

/* Number of series with at least one tombstone. */
size_t tombstones_series(const struct tombstones *t);

/* Append the bytes of a tombstones file to `out`. */
void tombstones_encode(const struct tombstones *t, struct buf *out);

/*
 * Decode a tombstones file; the caller owns the reference. ERR_CORRUPT: it is
 * damaged.
 */
NODISCARD int tombstones_decode(struct bytes file, struct tombstones **out,
				struct err *err);

#endif
