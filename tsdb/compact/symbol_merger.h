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

struct lexicon;

NODISCARD int lexicon_new(const struct part *parts, size_t count,
			  struct lexicon **out, struct err *err);
void lexicon_free(struct lexicon *l);

uint32_t lexicon_count(const struct lexicon *l);

/* Of all texts, each with its length before it as a uvarint. */
uint64_t lexicon_bytes(const struct lexicon *l);

/* Write all texts in order. */
NODISCARD int lexicon_write(struct lexicon *l, struct index_writer *w,
			    struct err *err);

/* The labels of a part's series, as numbers in the lexicon, into out. */
NODISCARD int lexicon_pairs(struct lexicon *l, uint32_t part, uint32_t series,
			    struct index_series *out, struct err *err);

#endif
