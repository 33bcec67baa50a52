/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part: a range or a block, to whoever reads both alike. A series in it is a
 * number: its place in a range's index, its reference in a block's.
 *
 * Ownership: holds no reference by itself; see part_ref().
 * Threads: any.
 */
#ifndef TSDB_PART_PART_H
#define TSDB_PART_PART_H

#include "tsdb/block/block.h"
#include "tsdb/head/head.h"

/* One of the two is set. */
struct part {
	struct head *head;
	struct block *block;
};

struct part part_ref(struct part p);
void part_unref(struct part p);

/* The first and the last time that it may hold. */
int64_t part_min(struct part p);
int64_t part_max(struct part p);

/* Series that all matchers match and that have something in [from, to]. */
struct selection {
	const struct matcher *matchers;
	size_t count; /* 0: all series */
	int64_t from;
	int64_t to;
};

NODISCARD int part_select(struct part p, const struct selection *s,
			  struct postings *out, struct err *err);

/* All label names; all values of one (name.len > 0), borrowed for the call. */
NODISCARD int part_texts(struct part p, struct str name, index_text_fn fn,
			 void *ctx, struct err *err);

/* A series' label set; the caller owns a reference. */
NODISCARD int part_labels(struct part p, uint32_t series, struct labels **out,
			  struct err *err);

/* The series with these labels; ERR_NOTFOUND without one. */
NODISCARD int part_find(struct part p, const struct labels *ls,
			uint32_t *series, struct err *err);

NODISCARD int part_times(struct part p, uint32_t series, int64_t from,
			 int64_t to, struct times *out, struct err *err);

/* wal: to reference the segment of a profile that is only there, or NULL. */
NODISCARD int part_lookup(struct part p, uint32_t series, int64_t ms,
			  struct wal *wal, struct part_hit *out,
			  struct err *err);

/* Flushed groups, without what is only in the WAL. */
NODISCARD int part_groups(struct part p, uint32_t series, int64_t from,
			  int64_t to, struct chunks *out, struct err *err);
struct chunk_source part_source(struct part p);

/* The file that holds a group's values; NULL when there is none such. */
const struct file *part_values(struct part p, const struct chunk_meta *h);

#endif
