/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols: the sorted texts of an index, by number.
 *
 * Ownership: borrows the blob. Threads: immutable once opened.
 */
#ifndef TSDB_INDEX_SYMBOLS_H
#define TSDB_INDEX_SYMBOLS_H

#include "tsdb/io/blob.h"

struct symbols {
	const struct blob *blob;
	uint64_t end;    /* behind the last text */
	uint64_t *every; /* where each 32nd is */
	uint32_t count;
};

/* Read the section at offset through, and verify it. */
NODISCARD int symbols_open(const struct blob *blob, uint64_t offset,
			   struct symbols *out, struct err *err);
void symbols_fini(struct symbols *s);

/* Text n, borrowed from the blob or from scratch. */
NODISCARD int symbols_get(const struct symbols *s, uint32_t n,
			  struct buf *scratch, struct str *out,
			  struct err *err);

/*
 * Iterates over all, in order: 1 and *out, 0 at the end, or an error. *out is
 * good until the next call.
 */
struct symbols_iter {
	const struct symbols *s;
	uint32_t number; /* of the next one */
	struct buf scratch;
};

struct symbols_iter symbols_iter(const struct symbols *s);
int symbols_next(struct symbols_iter *it, struct str *out, struct err *err);
void symbols_iter_fini(struct symbols_iter *it);

/*
 * The checked content of a section "u32 length | content | CRC": *content
 * borrows. Also for the other tables of an index.
 */
NODISCARD int section_view(const struct blob *blob, uint64_t offset,
			   struct buf *scratch, struct bytes *content,
			   struct err *err);

#endif
