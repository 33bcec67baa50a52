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
	/* Index of the name's first element in the array index.every. */
	size_t first;
	uint32_t count; /* number of the name's values */
	/* File offset after the last table entry of the name. */
	uint64_t end;
};

/* An open index. */
struct index {
	struct blob *blob;
	struct index_toc toc;
	struct symbols symbols;
	struct name *names; /* label names, sorted */
	size_t name_count;
	/*
	 * For each label name, the file offsets of the table entries of its
	 * first value and of every 32nd value after it.
	 */
	uint64_t *every;
	size_t every_count;
	/* File offset of the first reference in the list of all series. */
	uint64_t all;
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
 * Decode the next entry of the postings offset table. Its texts borrow from the
 * bytes that d decodes. Damage sets d->bad.
 */
struct table_entry entry_decode(struct dec *d);

/*
 * Read and verify the list of series references at offset `at`. *ids is set to
 * a decoder at the first reference and borrows from `scratch`; *count is set to
 * the number of references. ERR_CORRUPT, ERR_IO.
 */
NODISCARD int list_view(const struct index *ix, uint64_t at,
			struct buf *scratch, struct dec *ids, uint32_t *count,
			struct err *err);

#endif
