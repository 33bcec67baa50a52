/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a block's label index (docs/format/block.md): all symbols in order,
 * then all series in label order, then the rest by itself, from what it wrote,
 * in memory that does not grow with the labels of a series.
 *
 * Ownership: index_writer_free() frees, finished or not.
 * Threads: one thread at a time.
 */
#ifndef TSDB_INDEX_INDEX_WRITER_H
#define TSDB_INDEX_INDEX_WRITER_H

#include "tsdb/index/index_format.h"
#include "tsdb/io/outfile.h"

struct index_writer;

/* bytes: of all symbols, each with its length before it as a uvarint. */
NODISCARD int index_writer_new(struct fs *fs, const char *path,
			       uint32_t symbols, uint64_t bytes,
			       struct index_writer **out, struct err *err);
void index_writer_free(struct index_writer *w);

/* The next symbol, in byte order; its number is how many came before. */
void index_writer_symbol(struct index_writer *w, struct str s);

/* The next series, in label order, its pairs and chunks in order. */
void index_writer_series(struct index_writer *w, const struct index_pair *pairs,
			 size_t pair_count, const struct index_chunk *chunks,
			 size_t chunk_count);

/* Write the rest, durable. *size and *crc are the file's. */
NODISCARD int index_writer_finish(struct index_writer *w, uint64_t *size,
				  uint32_t *crc, struct err *err);

#endif
