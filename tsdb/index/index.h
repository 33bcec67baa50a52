/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block's label index, read: Prometheus' format, version 2
 * (docs/format/block.md). A few offsets are in memory; all else is looked at
 * where it lies.
 *
 * Ownership: owns its blob. Threads: immutable once opened.
 * Errors: ERR_CORRUPT names the file and the place.
 */
#ifndef TSDB_INDEX_INDEX_H
#define TSDB_INDEX_INDEX_H

#include "model/labels.h"
#include "tsdb/index/index_format.h"
#include "tsdb/index/select.h"
#include "tsdb/index/symbols.h"

struct index;

/* Takes the blob, also when it fails. */
NODISCARD int index_open(struct blob *blob, struct index **out,
			 struct err *err);
void index_close(struct index *ix);

const struct symbols *index_symbols(const struct index *ix);
uint32_t index_series_count(const struct index *ix);

/* The reference of the i-th series in label order. */
NODISCARD int index_ref(const struct index *ix, uint32_t i, uint32_t *ref,
			struct err *err);

/* A series' entry. The zero value is ready, and may be filled many times. */
struct index_series {
	struct index_pair *pairs;
	size_t pair_count;
	size_t pair_cap;
	struct index_chunk *chunks;
	size_t chunk_count;
	size_t chunk_cap;
};

void index_series_fini(struct index_series *s);
NODISCARD int index_series(const struct index *ix, uint32_t ref,
			   struct index_series *out, struct err *err);

/*
 * The same from the bytes of an entry at offset; *end (may be NULL) is set
 * behind it.
 */
NODISCARD int index_entry(const struct blob *blob, uint64_t offset,
			  struct index_series *out, uint64_t *end,
			  struct err *err);

/* The label set of an entry; the caller owns a reference. */
NODISCARD int index_labels(const struct index *ix, const struct index_series *s,
			   struct labels **out, struct err *err);

/* The series with these labels; ERR_NOTFOUND without one. */
NODISCARD int index_find(const struct index *ix, const struct labels *ls,
			 uint32_t *ref, struct err *err);

/* References of the series that all matchers match. */
NODISCARD int index_select(const struct index *ix, const struct matcher *v,
			   size_t count, struct postings *out, struct err *err);

typedef void (*index_text_fn)(void *ctx, struct str text);

/* All label names; all values of one. Texts are borrowed for the call. */
void index_names(const struct index *ix, index_text_fn fn, void *ctx);
NODISCARD int index_values(const struct index *ix, struct str name,
			   index_text_fn fn, void *ctx, struct err *err);

#endif
