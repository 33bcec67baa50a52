/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Roster: all series of several parts, each once, in label order, with the
 * places where they are.
 *
 * Ownership: roster_fini() frees; borrows the parts.
 * Threads: one thread at a time.
 */
#ifndef TSDB_COMPACT_SERIES_MERGER_H
#define TSDB_COMPACT_SERIES_MERGER_H

#include "tsdb/part/part.h"

/* A series in one part. */
struct roster_place {
	uint32_t part;
	uint32_t series;
};

struct roster_entry {
	uint64_t target; /* hash of its labels without __name__ */
	uint32_t place;  /* its first place */
	uint32_t chunk;  /* the caller's: its first chunk, */
	uint32_t chunks; /* and how many */
};

struct roster {
	struct roster_entry *v; /* in label order */
	size_t count;
	size_t cap;
	struct roster_place *places; /* in the order of entries, then parts */
	size_t place_count;
	size_t place_cap;
};

NODISCARD int roster_fill(struct roster *r, const struct part *parts,
			  size_t count, struct err *err);
void roster_fini(struct roster *r);

/* The places of entry i. */
const struct roster_place *roster_places(const struct roster *r, size_t i,
					 size_t *count);

/*
 * Entries in stripe order: those of one target together, in label order. The
 * caller frees.
 */
uint32_t *roster_stripes(const struct roster *r);

#endif
