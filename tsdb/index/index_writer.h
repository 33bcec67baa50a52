/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writer of a block's label index (docs/format/block.md). The caller adds all
 * symbols in order, then all series in label order. To build the postings (for
 * each label, the list of series that have it), the writer reads the written
 * series back, once for each batch of label names, so that its memory does not
 * grow with the number of series times labels. Errors while symbols and series
 * are added are returned by index_writer_finish().
 *
 * Ownership: index_writer_free() frees the writer, finished or not.
 * Threads: one thread at a time.
 */
#ifndef TSDB_INDEX_INDEX_WRITER_H
#define TSDB_INDEX_INDEX_WRITER_H

#include "tsdb/index/index_format.h"
#include "tsdb/io/outfile.h"

struct index_writer;

/*
 * Create the index file at path and write its header. `symbols` is the number
 * of symbols. `bytes` is their total size, including the uvarint length before
 * each symbol. The caller owns *out. ERR_TOOBIG: the symbols exceed 4 GiB.
 * ERR_EXISTS, ERR_NOSPACE, ERR_IO: the file cannot be created.
 */
NODISCARD int index_writer_new(struct fs *fs, const char *path,
			       uint32_t symbols, uint64_t bytes,
			       struct index_writer **out, struct err *err);

/* Close the file and free the writer. NULL is a no-op. */
void index_writer_free(struct index_writer *w);

/*
 * Add the next symbol. Symbols must be added in byte order, and are numbered
 * from 0.
 */
void index_writer_symbol(struct index_writer *w, struct str s);

/*
 * Add the next series, in label order. `pairs`, the labels of the series, must
 * be in order of names; `chunks` in order of time. After the first series no
 * symbol may be added.
 */
void index_writer_series(struct index_writer *w, const struct index_pair *pairs,
			 size_t pair_count, const struct index_chunk *chunks,
			 size_t chunk_count);

/*
 * Write the postings and tables, and fsync the file. *size and *crc are set to
 * the file's size and CRC32C. ERR_TOOBIG: the index exceeds a limit of the
 * format. Otherwise the first error of any write is returned.
 */
NODISCARD int index_writer_finish(struct index_writer *w, uint64_t *size,
				  uint32_t *crc, struct err *err);

#endif
