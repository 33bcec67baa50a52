/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reader of a block's label index, in Prometheus' index format version 2
 * (docs/format/block.md). Memory holds only the label names and the offsets of
 * every 32nd symbol and label value; everything else is read from the file when
 * it is needed. All functions that read return ERR_CORRUPT, with file and
 * offset in the message, when the index is damaged, and ERR_IO when the disk
 * cannot read it.
 *
 * Ownership: the index owns its blob.
 * Threads: immutable once opened; any.
 */
#ifndef TSDB_INDEX_INDEX_H
#define TSDB_INDEX_INDEX_H

#include "model/labels.h"
#include "tsdb/index/index_format.h"
#include "tsdb/index/select.h"
#include "tsdb/index/symbols.h"

struct index;

/*
 * Open the index in the file `blob`, verifying its symbols and its offset
 * table. The index takes over `blob`, even on failure. The caller owns *out.
 */
NODISCARD int index_open(struct blob *blob, struct index **out,
			 struct err *err);

/* Close the index and its blob. NULL is a no-op. */
void index_close(struct index *ix);

/* All label names and values of the index, borrowed from `ix`. */
const struct symbols *index_symbols(const struct index *ix);

/* Number of series in the index. */
uint32_t index_series_count(const struct index *ix);

/* Reference of the i-th series in label order, i < index_series_count(). */
NODISCARD int index_ref(const struct index *ix, uint32_t i, uint32_t *ref,
			struct err *err);

/*
 * The decoded index entry of a series: its labels as symbol numbers, and its
 * chunks. The zero value is ready for use. One instance can be filled many
 * times.
 */
struct index_series {
	struct index_pair *pairs;
	size_t pair_count;
	size_t pair_cap;
	struct index_chunk *chunks;
	size_t chunk_count;
	size_t chunk_cap;
};

/* Free the arrays of *s and reset it to zero. */
void index_series_fini(struct index_series *s);

/*
 * Read the entry of the series with reference `ref` into *out, and verify it.
 */
NODISCARD int index_series(const struct index *ix, uint32_t ref,
			   struct index_series *out, struct err *err);

/*
 * Read and verify the series entry at a byte offset of `blob`. Needs no open
 * index, so that the index writer can read back what it wrote. *end (may be
 * NULL) is set to the offset after the entry.
 */
NODISCARD int index_entry(const struct blob *blob, uint64_t offset,
			  struct index_series *out, uint64_t *end,
			  struct err *err);

/*
 * Build the label set of a series from its index entry. The caller owns a
 * reference to *out.
 */
NODISCARD int index_labels(const struct index *ix, const struct index_series *s,
			   struct labels **out, struct err *err);

/*
 * Find the series with exactly these labels. ERR_NOTFOUND: the index has no
 * such series; `err` is not set.
 */
NODISCARD int index_find(const struct index *ix, const struct labels *ls,
			 uint32_t *ref, struct err *err);

/*
 * Fill `out`, which must be empty, with the sorted references of the series
 * that all `count` matchers match. Without matchers, all series are selected.
 * Errors as for select_series().
 */
NODISCARD int index_select(const struct index *ix, const struct limits *limits,
			   const struct matcher *v, size_t count,
			   struct postings *out, struct err *err);

/* Receive a label name or label value, which is valid during the call only. */
typedef void (*index_text_fn)(void *ctx, struct str text);

/* Call fn for each label name, in order. */
void index_names(const struct index *ix, index_text_fn fn, void *ctx);

/*
 * Call fn for each value of a label name, in order. An unknown name has no
 * values.
 */
NODISCARD int index_values(const struct index *ix, struct str name,
			   index_text_fn fn, void *ctx, struct err *err);

#endif
