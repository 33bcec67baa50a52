/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of Prometheus' index format, version 2
 * (github.com/prometheus/prometheus, tsdb/docs/format/index.md).
 *
 * Ownership: constants and plain values.
 * Threads: none involved.
 */
#ifndef TSDB_INDEX_INDEX_FORMAT_H
#define TSDB_INDEX_INDEX_FORMAT_H

#include "base/defs.h"

#define INDEX_MAGIC 0xBAAAD700u

enum {
	INDEX_VERSION = 2,
	INDEX_HEADER = 5,
	INDEX_TOC = 52,
	INDEX_SERIES_ALIGN = 16,
	INDEX_LIST_ALIGN = 4,
	INDEX_EVERY = 32, /* one place of so many is kept in memory */
};

/* Where the sections are; 0 for one that is not there. */
struct index_toc {
	uint64_t symbols;
	uint64_t series;
	uint64_t label_indices;
	uint64_t label_table;
	uint64_t postings;
	uint64_t postings_table;
};

/* A label of a series, by symbol numbers. */
struct index_pair {
	uint32_t name;
	uint32_t value;
};

/* A chunk of a series; both times are in it. */
struct index_chunk {
	int64_t min;
	int64_t max;
	uint64_t ref;
};

#endif
