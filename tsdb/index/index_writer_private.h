/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structures and functions that the files of the index writer share. No other
 * file includes this header.
 *
 * Ownership: a writer owns everything in it.
 * Threads: one thread per writer.
 */
#ifndef TSDB_INDEX_INDEX_WRITER_PRIVATE_H
#define TSDB_INDEX_INDEX_WRITER_PRIVATE_H

#include "base/table.h"
#include "base/vec.h"
#include "tsdb/index/index_writer.h"

/* A label name (its symbol number), and the number of series that have it. */
struct name {
	uint32_t symbol;
	uint32_t count;
};

/*
 * A postings list that was written: its label and its number of series. The
 * offset of a list need not be stored: it is computed from the lengths of the
 * lists before it.
 */
struct list {
	struct index_pair pair;
	uint32_t count;
};

/*
 * One label of one series, as an element of the array that is sorted by label.
 */
struct use {
	struct index_pair pair;
	uint32_t ref;
};

struct index_writer {
	struct fs *fs;
	struct outfile file;
	struct index_toc toc;
	uint32_t symbols_crc; /* checksum of the symbols written so far */
	bool symbols_closed;
	uint32_t series;
	uint64_t series_end; /* file offset after the last series */
	struct buf scratch;

	struct name *names; /* every label name in use */
	size_t name_count;
	size_t name_cap;
	struct table names_index;

	struct list *lists; /* postings lists, in the order of the file */
	size_t list_count;
	size_t list_cap;
};

/* Write the CRC that ends a section or entry. */
void index_add_crc(struct index_writer *w, uint32_t crc);

#endif
