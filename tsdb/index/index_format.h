/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constants and structures of Prometheus' index format, version 2
 * (github.com/prometheus/prometheus, tsdb/docs/format/index.md).
 *
 * Threads: none involved.
 */
#ifndef TSDB_INDEX_INDEX_FORMAT_H
#define TSDB_INDEX_INDEX_FORMAT_H

#include "base/defs.h"

/* The first four bytes of an index. */
#define INDEX_MAGIC 0xBAAAD700u

/*
 * Format version; the lengths of the header and of the table of contents, in
 * bytes; and the alignments of series entries and of postings lists, in bytes.
 */
enum {
	INDEX_VERSION = 2,
	INDEX_HEADER = 5,
	INDEX_TOC = 52,
	INDEX_SERIES_ALIGN = 16,
	INDEX_LIST_ALIGN = 4,
	/* Memory holds the offset of every 32nd symbol or table entry. */
	INDEX_EVERY = 32,
};

/*
 * Table of contents: the file offset of each section; 0: the index does not
 * have the section.
 */
struct index_toc {
	uint64_t symbols;
	uint64_t series;
	uint64_t label_indices;
	uint64_t label_table;
	uint64_t postings;
	uint64_t postings_table;
};

/* A label of a series: the symbol numbers of its name and value. */
struct index_pair {
	uint32_t name;
	uint32_t value;
};

/*
 * A chunk of a series: the times of its first and last profile, and its
 * reference (number of the chunk file, from 0, << 32 | offset in the file).
 */
struct index_chunk {
	int64_t min;
	int64_t max;
	uint64_t ref;
};

#endif
