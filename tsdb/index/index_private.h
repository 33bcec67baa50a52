/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the index reader share. No file outside of them includes it.
 *
 * Ownership: an index owns its blob and its names.
 * Threads: immutable once opened.
 */
#ifndef TSDB_INDEX_INDEX_PRIVATE_H
#define TSDB_INDEX_INDEX_PRIVATE_H

#include "base/dec.h"
#include "tsdb/index/index.h"

/* The values of one label name in the postings offset table. */
struct name {
	struct str text; /* owned */
	size_t first;    /* its first place in `every` */
	uint32_t count;
	uint64_t end; /* behind its last entry */
};

struct index {
	struct blob *blob;
	struct index_toc toc;
	struct symbols symbols;
	struct name *names; /* sorted */
	size_t name_count;
	uint64_t *every; /* where each name's first and 32nd further is */
	size_t every_count;
	uint64_t all; /* where the references of all series are */
	uint32_t series;
};

/* One entry of the postings offset table. */
struct table_entry {
	struct str name;
	struct str value;
	uint64_t list;
};

struct table_entry entry_decode(struct dec *d);

NODISCARD int list_view(const struct index *ix, uint64_t at,
			struct buf *scratch, struct dec *ids, uint32_t *count,
			struct err *err);

#endif
