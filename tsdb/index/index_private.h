/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structures that the files of the index reader share. No other file includes
 * this header.
 *
 * Ownership: an index owns its blob and its names.
 * Threads: immutable once opened.
 */
#ifndef TSDB_INDEX_INDEX_PRIVATE_H
#define TSDB_INDEX_INDEX_PRIVATE_H

#include "base/dec.h"
#include "tsdb/index/index.h"

/* A label name and where its values are in the postings offset table. */
struct name {
	struct str text; /* label name, owned */
	size_t first;    /* index of its first offset in `every` */
	uint32_t count;  /* number of values */
	uint64_t end;    /* offset behind its last entry */
};

/* An open index. */
struct index {
	struct blob *blob;
	struct index_toc toc;
	struct symbols symbols;
	struct name *names; /* in order of names */
	size_t name_count;
	/* Offset of each name's first value and of every 32nd. */
	uint64_t *every;
	size_t every_count;
	uint64_t all;    /* offset of the references of all series */
	uint32_t series; /* number of series */
};

/*
 * One entry of the postings offset table: a label and the offset of the list of
 * series that have it.
 */
struct table_entry {
	struct str name;
	struct str value;
	uint64_t list;
};

/*
 * Decode the next entry; its texts borrow from the bytes behind d. Damage sets
 * d->bad.
 */
struct table_entry entry_decode(struct dec *d);

/*
 * Read and verify the list of series references at offset `at`. *ids is set to
 * its first reference and borrows from scratch, *count to their number.
 * ERR_CORRUPT, ERR_IO.
 */
NODISCARD int list_view(const struct index *ix, uint64_t at,
			struct buf *scratch, struct dec *ids, uint32_t *count,
			struct err *err);

#endif
