/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/block/part.h"

#include "base/mutex.h"
#include "tsdb/head/window.h"

/* Work of reading a series of a block, in units of limits_meter(). */
#define SERIES_WORK 4

struct part part_ref(struct part p)
{
	if (p.head)
		head_ref(p.head);
	else
		block_ref(p.block);
	return p;
}

void part_unref(struct part p)
{
	head_unref(p.head);
	block_unref(p.block);
}

bool part_is_unread(struct part p)
{
	return p.head ? p.head->unreadable || p.head->tombstones_unread :
			p.block->unreadable;
}

int64_t part_min(struct part p)
{
	return p.head ? p.head->start : p.block->meta.first_ms;
}

int64_t part_max(struct part p)
{
	return p.head ? p.head->start + WINDOW_MS - 1 : p.block->meta.last_ms;
}

/* Add to `out` the series of a head that match the selection. */
static int part_select_head(struct head *r, const struct selection *s,
			    struct postings *out, struct err *err)
{
	struct postings p = { 0 };
	int rc = memindex_select(&r->index, &r->mu, &s->limits, s->matchers,
				 s->count, &p, err);

	mutex_lock(&r->mu);
	for (size_t i = 0; i < p.count && !rc; i++) {
		if (series_overlaps(r->series[p.v[i]], s->from, s->to))
			postings_add(out, p.v[i]);
	}
	mutex_unlock(&r->mu);
	postings_fini(&p);
	return rc;
}

/* Whether a chunk of the series overlaps [from, to]. */
static bool has_chunk(const struct index_series *s, int64_t from, int64_t to)
{
	for (size_t i = 0; i < s->chunk_count; i++) {
		if (s->chunks[i].min <= to && s->chunks[i].max >= from)
			return true;
	}
	return false;
}

/*
 * Add to `out` the series of a block that match the selection. If the time
 * range of the selection covers the whole block, every series of the block has
 * a chunk in the range, so no series entry needs to be read.
 */
static int block_select(struct block *b, const struct selection *s,
			struct postings *out, struct err *err)
{
	bool all = s->from <= b->meta.first_ms && s->to >= b->meta.last_ms;
	struct index_series series = { 0 };
	struct postings p = { 0 };
	struct growth_meter meter = { 0 };
	int rc = index_select(b->index, &s->limits, s->matchers, s->count, &p,
			      err);

	for (size_t i = 0; i < p.count && !rc; i++) {
		if (!all)
			rc = index_series(b->index, p.v[i], &series, err);
		if (!rc)
			rc = limits_meter(&s->limits, &meter,
					  series.chunk_count + SERIES_WORK, 0,
					  err);
		if (!rc && (all || has_chunk(&series, s->from, s->to)))
			postings_add(out, p.v[i]);
	}
	index_series_fini(&series);
	postings_fini(&p);
	return rc;
}

int part_select(struct part p, const struct selection *s, struct postings *out,
		struct err *err)
{
	return p.head ? part_select_head(p.head, s, out, err) :
			block_select(p.block, s, out, err);
}

/*
 * Call fn for the values of a label name, or for all label names if `name` is
 * empty. The head's lock is not held meanwhile, because fn may be slow.
 */
static void part_head_texts(struct head *r, struct str name, index_text_fn fn,
			    void *ctx)
{
	struct str texts[MEMINDEX_BATCH];
	size_t first = 0;
	size_t count;

	do {
		count = memindex_texts(&r->index, &r->mu, name, first, texts);
		for (size_t i = 0; i < count; i++)
			fn(ctx, texts[i]);
		first += count;
	} while (count);
}

int part_texts(struct part p, struct str name, index_text_fn fn, void *ctx,
	       struct err *err)
{
	if (p.head) {
		part_head_texts(p.head, name, fn, ctx);
		return 0;
	}
	/* An empty name asks for the label names themselves. */
	if (name.len)
		return index_values(p.block->index, name, fn, ctx, err);
	index_names(p.block->index, fn, ctx);
	return 0;
}

int part_labels(struct part p, uint32_t series, struct labels **out,
		struct err *err)
{
	if (!p.head)
		return block_labels(p.block, series, out, err);
	/* The lock is needed because an append may move the array of series. */
	mutex_lock(&p.head->mu);
	*out = labels_ref(p.head->series[series]->labels);
	mutex_unlock(&p.head->mu);
	return 0;
}

int part_find(struct part p, const struct labels *ls, uint32_t *series,
	      struct err *err)
{
	if (!p.head)
		return index_find(p.block->index, ls, series, err);
	*series = head_find(p.head, ls);
	return *series == SERIES_NONE ? ERR_NOTFOUND : 0;
}

/*
 * The functions below call the corresponding function of the head or the block.
 */
int part_times(struct part p, uint32_t series, int64_t from, int64_t to,
	       struct times *out, struct err *err)
{
	return p.head ? head_times(p.head, series, from, to, out, err) :
			block_times(p.block, series, from, to, out, err);
}

int part_lookup(struct part p, uint32_t series, int64_t ms, struct wal *wal,
		struct part_hit *out, struct err *err)
{
	return p.head ? head_lookup(p.head, series, ms, wal, out, err) :
			block_lookup(p.block, series, ms, out, err);
}

int part_groups(struct part p, uint32_t series, int64_t from, int64_t to,
		struct chunks *out, struct err *err)
{
	if (!p.head)
		return block_groups(p.block, series, from, to, out, err);
	head_groups(p.head, series, from, to, out);
	return 0;
}

struct chunk_source part_source(struct part p)
{
	return p.head ? head_source(p.head) : block_source(p.block);
}

const struct file *part_values(struct part p, const struct chunk_meta *h)
{
	return p.head ? p.head->values : block_values(p.block, h->place.file);
}
