/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tombstones of a block: which of its profiles were deleted, in Prometheus'
 * file format (docs/format/block.md).
 *
 * Ownership: reference counted. Threads: immutable once shared.
 */
#ifndef TSDB_BLOCK_TOMBSTONES_H
#define TSDB_BLOCK_TOMBSTONES_H

#include <stdatomic.h>

#include "base/buf.h"
#include "base/err.h"
#include "tsdb/chunk/chunks.h"

struct tombstone {
	uint32_t ref; /* of the series in the block's index */
	int64_t from;
	int64_t to; /* both are hidden */
};

struct tombstones {
	_Atomic uint32_t refs;
	struct tombstone *v; /* by reference and time; they don't touch */
	size_t count;
	size_t cap;
};

struct tombstones *tombstones_new(void);
struct tombstones *tombstones_ref(struct tombstones *t);
void tombstones_unref(struct tombstones *t);

/* A copy to add to. */
struct tombstones *tombstones_copy(const struct tombstones *t);

void tombstones_add(struct tombstones *t, uint32_t ref, int64_t from,
		    int64_t to);

/* After the last tombstones_add(): sort, and join what overlaps or touches. */
void tombstones_sort(struct tombstones *t);

/* Add the gaps of a series. */
void tombstones_gaps(const struct tombstones *t, uint32_t ref,
		     struct chunks *out);

/* How many series have one. */
size_t tombstones_series(const struct tombstones *t);

void tombstones_encode(const struct tombstones *t, struct buf *out);
NODISCARD int tombstones_decode(struct bytes file, struct tombstones **out,
				struct err *err);

#endif
