/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Roster: all series of several parts, each once, in label order, with the
 * places where they are.
 *
 * Ownership: series_merger_fini() frees; borrows the parts.
 * Threads: one thread at a time.
 */
#ifndef TSDB_COMPACT_SERIES_MERGER_H
#define TSDB_COMPACT_SERIES_MERGER_H

#include "tsdb/part/part.h"

/* A series in one part. */
struct merged_place {
	uint32_t part;
	uint32_t series;
};

struct series_merger_entry {
	uint64_t target; /* hash of its labels without __name__ */
	uint32_t place;  /* its first place */
	uint32_t chunk;  /* the caller's: its first chunk, */
	uint32_t chunks; /* and how many */
};

struct series_merger {
	struct series_merger_entry *v; /* in label order */
	size_t count;
	size_t cap;
	struct merged_place *places; /* in the order of entries, then parts */
	size_t place_count;
	size_t place_cap;
};

NODISCARD int series_merger_fill(struct series_merger *r,
				 const struct part *parts, size_t count,
				 struct err *err);
void series_merger_fini(struct series_merger *r);

/* The places of entry i. */
const struct merged_place *series_merger_places(const struct series_merger *r,
						size_t i, size_t *count);

/*
 * Entries in stripe order: those of one target together, in label order. The
 * caller frees.
 */
uint32_t *series_merger_stripes(const struct series_merger *r);

#endif
