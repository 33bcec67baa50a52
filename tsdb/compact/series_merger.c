/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/compact/series_merger.h"

#include <stdlib.h>

#include "base/enc.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/mutex.h"

/* Walks the series of one part in label order. */
struct cursor {
	struct part part;
	uint32_t *order; /* series numbers in label order; for heads only */
	uint32_t count;
	uint32_t next;
	uint32_t series; /* number of the current series */
	/* Labels of the current series; NULL: at the end. */
	struct labels *labels;
};

/*
 * A series of a head with its labels. An array of these can be sorted without
 * the head's lock.
 */
struct numbered {
	const struct labels *labels;
	uint32_t number;
};

static int series_merger_by_labels(const void *a, const void *b)
{
	return labels_cmp(((const struct numbered *)a)->labels,
			  ((const struct numbered *)b)->labels);
}

/*
 * Sort the series of a head by labels. The labels are immutable and live as
 * long as the head, so the lock is needed only while the series are listed.
 */
static void order_range(struct cursor *c)
{
	struct head *r = c->part.head;
	struct numbered *v;

	mutex_lock(&r->mu);
	c->count = r->index.series;
	v = mem_zalloc(c->count, sizeof(*v));
	for (uint32_t i = 0; i < c->count; i++)
		v[i] = (struct numbered){ r->series[i]->labels, i };
	mutex_unlock(&r->mu);
	if (c->count)
		qsort(v, c->count, sizeof(*v), series_merger_by_labels);
	c->order = mem_alloc(c->count * sizeof(*c->order));
	for (uint32_t i = 0; i < c->count; i++)
		c->order[i] = v[i].number;
	mem_free(v);
}

/* Advance to the next series; at the end, labels is NULL. */
static int cursor_next(struct cursor *c, struct err *err)
{
	int rc = 0;

	labels_unref(c->labels);
	c->labels = NULL;
	if (c->next == c->count)
		return 0;
	if (c->order)
		c->series = c->order[c->next];
	else
		rc = index_ref(c->part.block->index, c->next, &c->series, err);
	c->next++;
	return rc ? rc : part_labels(c->part, c->series, &c->labels, err);
}

/*
 * A block's series are in label order already; a head's series are sorted here.
 */
static int cursor_begin(struct cursor *c, struct part p, struct err *err)
{
	*c = (struct cursor){ .part = p };
	if (p.head)
		order_range(c);
	else
		c->count = index_series_count(p.block->index);
	return cursor_next(c, err);
}

static void cursor_fini(struct cursor *c)
{
	labels_unref(c->labels);
	mem_free(c->order);
}

/*
 * Whether a label says nothing of the program: __name__ and other labels that
 * begin with "__", such as the number of a start of a process, and those of the
 * library that measured.
 */
static bool is_no_program(struct str name)
{
	return str_starts(name, str_of("__")) ||
	       str_starts(name, str_of("otel.scope."));
}

/*
 * Hash the labels of the program. All profile types of one target have the same
 * hash, so their series form a stripe.
 */
static uint64_t target_of(const struct labels *ls, struct buf *scratch)
{
	struct labels_iter it = labels_iter(ls);
	struct label l;

	buf_reset(scratch);
	while (labels_next(&it, &l)) {
		if (is_no_program(l.name))
			continue;
		enc_str(scratch, l.name);
		enc_str(scratch, l.value);
	}
	return hash_bytes(buf_bytes(scratch));
}

/* Record that part number `part` has the current series. */
static void series_merger_add_place(struct series_merger *r, uint32_t part,
				    uint32_t series)
{
	r->places = mem_grow(r->places, r->place_count, &r->place_cap,
			     sizeof(*r->places));
	r->places[r->place_count++] =
		(struct merged_place){ .part = part, .series = series };
}

/*
 * The smallest of the current label sets; NULL when all cursors are at the end.
 */
static const struct labels *series_merger_find_smallest(const struct cursor *v,
							size_t count)
{
	const struct labels *min = NULL;

	for (size_t i = 0; i < count; i++) {
		if (v[i].labels && (!min || labels_cmp(v[i].labels, min) < 0))
			min = v[i].labels;
	}
	return min;
}

/*
 * Add a series with its places in all parts that have it, and advance the
 * cursors of these parts.
 */
static int series_merger_take(struct series_merger *r, struct cursor *v,
			      size_t count, struct labels *ls,
			      struct buf *scratch, struct err *err)
{
	int rc = 0;

	r->v = mem_grow(r->v, r->count, &r->cap, sizeof(*r->v));
	r->v[r->count++] = (struct series_merger_entry){
		.target = target_of(ls, scratch),
		.place = (uint32_t)r->place_count
	};
	for (uint32_t i = 0; i < count && !rc; i++) {
		if (!v[i].labels || labels_cmp(v[i].labels, ls) != 0)
			continue;
		series_merger_add_place(r, i, v[i].series);
		rc = cursor_next(&v[i], err);
	}
	return rc;
}

/*
 * Take a reference on the label set ls, because its cursor releases the label
 * set when the cursor advances.
 */
static struct labels *ref_of(const struct cursor *v, size_t count,
			     const struct labels *ls)
{
	for (size_t i = 0; i < count; i++) {
		if (v[i].labels == ls)
			return labels_ref(v[i].labels);
	}
	return NULL;
}

int series_merger_fill(struct series_merger *r, const struct part *parts,
		       size_t count, struct err *err)
{
	struct cursor *v = mem_zalloc(count, sizeof(*v));
	struct buf scratch = { 0 };
	const struct labels *min;
	int rc = 0;

	for (size_t i = 0; i < count && !rc; i++)
		rc = cursor_begin(&v[i], parts[i], err);
	while (!rc && (min = series_merger_find_smallest(v, count))) {
		struct labels *ls = ref_of(v, count, min);

		rc = series_merger_take(r, v, count, ls, &scratch, err);
		labels_unref(ls);
	}
	for (size_t i = 0; i < count; i++)
		cursor_fini(&v[i]);
	mem_free(v);
	buf_fini(&scratch);
	return rc;
}

void series_merger_fini(struct series_merger *r)
{
	mem_free(r->v);
	mem_free(r->places);
	*r = (struct series_merger){ 0 };
}

const struct merged_place *series_merger_places(const struct series_merger *r,
						size_t i, size_t *count)
{
	size_t end = i + 1 < r->count ? r->v[i + 1].place : r->place_count;

	*count = end - r->v[i].place;
	return &r->places[r->v[i].place];
}

/* The index of a merged series and its target, for sorting. */
struct striped {
	uint64_t target;
	uint32_t entry;
};

/* Sort by target; within a target keep label order. */
static int by_target(const void *a, const void *b)
{
	const struct striped *x = a;
	const struct striped *y = b;

	if (x->target != y->target)
		return x->target < y->target ? -1 : 1;
	return x->entry < y->entry ? -1 : x->entry > y->entry;
}

uint32_t *series_merger_stripes(const struct series_merger *r)
{
	struct striped *v = mem_zalloc(r->count, sizeof(*v));
	uint32_t *order = mem_alloc(r->count * sizeof(*order));

	for (uint32_t i = 0; i < r->count; i++)
		v[i] = (struct striped){ r->v[i].target, i };
	if (r->count)
		qsort(v, r->count, sizeof(*v), by_target);
	for (size_t i = 0; i < r->count; i++)
		order[i] = v[i].entry;
	mem_free(v);
	return order;
}
