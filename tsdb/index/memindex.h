/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Label index of a range, in memory: from a label's name and value to the
 * series that have it.
 *
 * Ownership: names and values are borrowed from the label sets that were
 * added, which must outlive the index.
 * Threads: the caller locks.
 */
#ifndef TSDB_INDEX_MEMINDEX_H
#define TSDB_INDEX_MEMINDEX_H

#include "base/table.h"
#include "model/matcher.h"
#include "tsdb/index/postings.h"

struct mem_value {
	struct str text;
	union { /* one series needs no list */
		uint32_t one;
		uint32_t *list;
	};
	uint32_t count;
	uint32_t cap; /* 0: one */
};

struct mem_name {
	struct str text;
	struct mem_value *values;
	size_t count;
	size_t cap;
	struct table index;
};

/* The zero value is an empty index. */
struct memindex {
	struct mem_name *names;
	size_t count;
	size_t cap;
	struct table index;
	uint32_t series; /* 0 … series - 1 */
};

void memindex_fini(struct memindex *m);

/* Add the next series: its number is m->series. */
void memindex_add(struct memindex *m, const struct labels *ls);

/* The series that all matchers match, in order; count 0 gives all. */
void memindex_select(const struct memindex *m, const struct matcher *v,
		     size_t count, struct postings *out);

/* The value's series, borrowed until the next add. */
const uint32_t *mem_value_series(const struct mem_value *v);

const struct mem_name *memindex_name(const struct memindex *m, struct str name);

#endif
