/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbol merger merges the label texts of several parts into one sorted
 * list of symbols, as the index of the new block needs it, and translates the
 * labels of each series to numbers in that list.
 *
 * Ownership: borrows the parts, which must outlive the merger.
 * Threads: one thread at a time.
 */
#ifndef TSDB_COMPACT_SYMBOL_MERGER_H
#define TSDB_COMPACT_SYMBOL_MERGER_H

#include "tsdb/block/part.h"
#include "tsdb/index/index_writer.h"

struct symbol_merger;

/*
 * Merge the label texts of the parts and set *out; the caller frees it with
 * symbol_merger_free(). ERR_CORRUPT, ERR_IO: the symbols of a block cannot be
 * read.
 */
NODISCARD int symbol_merger_new(const struct part *parts, size_t count,
				struct symbol_merger **out, struct err *err);

/* Free the merger; l may be NULL. */
void symbol_merger_free(struct symbol_merger *l);

/* Return the number of distinct symbols. */
uint32_t symbol_merger_count(const struct symbol_merger *l);

/*
 * Return the number of bytes that all symbols take in an index, each preceded
 * by its length as a uvarint.
 */
uint64_t symbol_merger_bytes(const struct symbol_merger *l);

/*
 * Write all symbols in order to the index. ERR_CORRUPT, ERR_IO: the symbols of
 * a block cannot be read.
 */
NODISCARD int symbol_merger_write(struct symbol_merger *l,
				  struct index_writer *w, struct err *err);

/*
 * Set out->pairs to the labels of a series of part number `part`, as numbers
 * of merged symbols. The caller frees out. ERR_CORRUPT, ERR_IO: the index of
 * the block cannot be read, or names a symbol that does not exist.
 */
NODISCARD int symbol_merger_pairs(struct symbol_merger *l, uint32_t part,
				  uint32_t series, struct index_series *out,
				  struct err *err);

#endif
