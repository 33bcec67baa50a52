/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lexicon: the label texts of several parts as one sorted list, and each
 * part's own numbers or texts translated into it.
 *
 * Ownership: borrows the parts. Threads: one thread at a time.
 */
#ifndef TSDB_COMPACT_SYMBOL_MERGER_H
#define TSDB_COMPACT_SYMBOL_MERGER_H

#include "tsdb/index/index_writer.h"
#include "tsdb/part/part.h"

struct symbol_merger;

NODISCARD int symbol_merger_new(const struct part *parts, size_t count,
				struct symbol_merger **out, struct err *err);
void symbol_merger_free(struct symbol_merger *l);

uint32_t symbol_merger_count(const struct symbol_merger *l);

/* Of all texts, each with its length before it as a uvarint. */
uint64_t symbol_merger_bytes(const struct symbol_merger *l);

/* Write all texts in order. */
NODISCARD int symbol_merger_write(struct symbol_merger *l,
				  struct index_writer *w, struct err *err);

/* The labels of a part's series, as numbers in the lexicon, into out. */
NODISCARD int symbol_merger_pairs(struct symbol_merger *l, uint32_t part,
				  uint32_t series, struct index_series *out,
				  struct err *err);

#endif
