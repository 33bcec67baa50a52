/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Label index of a head, in memory: finds the series that have a label.
 *
 * Ownership: names and values are borrowed from the label sets that were added,
 * which must outlive the index.
 * Threads: the caller locks, except where a function takes the mutex itself.
 */
#ifndef TSDB_INDEX_MEMINDEX_H
#define TSDB_INDEX_MEMINDEX_H

#include "base/limits.h"
#include "base/mutex.h"
#include "base/table.h"
#include "model/matcher.h"
#include "tsdb/index/postings.h"

/* A label value and the numbers of its series, in increasing order. */
struct mem_value {
	struct str text;
	/*
	 * The number of the only series, or a list of numbers. Most values have
	 * only one series.
	 */
	union {
		uint32_t one;
		uint32_t *list;
	};
	uint32_t count;
	uint32_t cap; /* capacity of `list`; 0: the union holds `one` */
};

/*
 * A label name and its values; the hash table `index` finds a value by its
 * text.
 */
struct mem_name {
	struct str text;
	struct mem_value *values;
	size_t count;
	size_t cap;
	struct table index;
};

/* A label index in memory. The zero value is an empty index. */
struct memindex {
	struct mem_name *names;
	size_t count;
	size_t cap;
	struct table index;
	uint32_t series; /* number of series; they are numbered from 0 */
};

/* Free the index and reset it to an empty one. */
void memindex_fini(struct memindex *m);

/* Add a series; its number is m->series before the call. */
void memindex_add(struct memindex *m, const struct labels *ls);

enum {
	MEMINDEX_BATCH = 256 /* texts that are read under one lock */
};

/*
 * Copy up to MEMINDEX_BATCH values of a label name to `out`, from value number
 * `first` on; if `name` is empty, the label names themselves. Returns how many.
 * The texts are borrowed, as the index itself borrows them. Takes `mu`, which
 * protects the index.
 */
size_t memindex_texts(const struct memindex *m, struct mutex *mu,
		      struct str name, size_t first, struct str *out);

/*
 * Fill `out`, which must be empty, with the sorted numbers of the series that
 * all `count` matchers match. Without matchers, all series are selected. Takes
 * `mu`, which protects the index, but holds it only for short times: series
 * that are added meanwhile are selected or not. Errors as for select_series().
 */
NODISCARD int memindex_select(const struct memindex *m, struct mutex *mu,
			      const struct limits *limits,
			      const struct matcher *v, size_t count,
			      struct postings *out, struct err *err);

/*
 * The numbers of a value's v->count series; borrowed until the next
 * memindex_add().
 */
const uint32_t *mem_value_series(const struct mem_value *v);

/*
 * Find a label name with its values; the result is borrowed. NULL: no series
 * has this label.
 */
const struct mem_name *memindex_name(const struct memindex *m, struct str name);

#endif
