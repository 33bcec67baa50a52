/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols: the sorted label names and values of an index, numbered from 0. The
 * offset of every 32nd symbol is held in memory.
 *
 * Ownership: borrows the blob.
 * Threads: immutable once opened.
 */
#ifndef TSDB_INDEX_SYMBOLS_H
#define TSDB_INDEX_SYMBOLS_H

#include "tsdb/io/blob.h"

/* The open section of symbols of an index. */
struct symbols {
	const struct blob *blob;
	uint64_t end;    /* file offset after the last symbol */
	uint64_t *every; /* file offset of every 32nd symbol */
	uint32_t count;  /* number of symbols */
};

/*
 * Open the section of symbols at `offset`, reading and verifying all of it. The
 * caller frees *out with symbols_fini(). ERR_CORRUPT, ERR_IO.
 */
NODISCARD int symbols_open(const struct blob *blob, uint64_t offset,
			   struct symbols *out, struct err *err);

/* Free the offsets; the blob stays open. */
void symbols_fini(struct symbols *s);

/*
 * Read symbol n; *out borrows from `scratch`. ERR_CORRUPT: there is no such
 * symbol, or it is damaged. ERR_IO: the disk could not read it.
 */
NODISCARD int symbols_get(const struct symbols *s, uint32_t n,
			  struct buf *scratch, struct str *out,
			  struct err *err);

/* Iterator over all symbols in order. Free it with symbols_iter_fini(). */
struct symbols_iter {
	const struct symbols *s;
	uint32_t number; /* number of the next symbol */
	struct buf scratch;
};

/* An iterator that starts at symbol 0. */
struct symbols_iter symbols_iter(const struct symbols *s);

/*
 * Return 1 and set *out, valid until the next call; 0 at the end; or an error
 * as for symbols_get().
 */
int symbols_next(struct symbols_iter *it, struct str *out, struct err *err);

/* Free the iterator's buffer. */
void symbols_iter_fini(struct symbols_iter *it);

/*
 * Read a section "u32 length | content | CRC" and verify its checksum; *content
 * borrows from `scratch`. Symbols, postings lists and offset tables have this
 * form. ERR_CORRUPT: the checksum differs, or the section extends beyond the
 * end of the file. ERR_IO: the disk could not read it.
 */
NODISCARD int symbols_view_section(const struct blob *blob, uint64_t offset,
				   struct buf *scratch, struct bytes *content,
				   struct err *err);

#endif
