/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The series merger lists all series of several parts, each once and in label
 * order, with its places: the parts that have the series, and its number in
 * each part.
 *
 * Ownership: series_merger_fini() frees the lists. series_merger_fill() borrows
 * the parts only while it runs.
 * Threads: one thread at a time.
 */
#ifndef TSDB_COMPACT_SERIES_MERGER_H
#define TSDB_COMPACT_SERIES_MERGER_H

#include "tsdb/block/part.h"

/*
 * Where a merged series is found: a part, and the number of the series in that
 * part.
 */
struct merged_place {
	/* Index of the part in the array given to series_merger_fill(). */
	uint32_t part;
	uint32_t series; /* number of the series in that part */
};

/* One merged series. */
struct series_merger_entry {
	/*
	 * Hash of the labels without __name__, equal for the series of a
	 * target.
	 */
	uint64_t target;
	/* Index in series_merger.places of the first place of the series. */
	uint32_t place;
	/* Index of the series' first chunk; set by the caller. */
	uint32_t chunk;
	uint32_t chunks; /* number of the series' chunks; set by the caller */
};

/* The merged series; a zeroed struct is empty and ready for use. */
struct series_merger {
	struct series_merger_entry *v; /* the series, in label order */
	size_t count;
	size_t cap;
	/*
	 * The places of all series: first those of v[0], oldest part first,
	 * then those of v[1], and so on.
	 */
	struct merged_place *places;
	size_t place_count;
	size_t place_cap;
};

/*
 * Fill an empty merger with the series of all parts. ERR_CORRUPT, ERR_IO: the
 * index of a block cannot be read.
 */
NODISCARD int series_merger_fill(struct series_merger *r,
				 const struct part *parts, size_t count,
				 struct err *err);

/* Free the lists, and leave the merger empty. */
void series_merger_fini(struct series_merger *r);

/*
 * Return the places of entry i, oldest part first, and set *count to their
 * number. The array is borrowed from the merger.
 */
const struct merged_place *series_merger_places(const struct series_merger *r,
						size_t i, size_t *count);

/*
 * Return the indices of all entries in stripe order: the series of one target
 * follow one another, in label order. The caller frees the array with
 * mem_free().
 */
uint32_t *series_merger_stripes(const struct series_merger *r);

#endif
