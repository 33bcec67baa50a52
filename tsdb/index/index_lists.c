/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/index/index_lists.h"

#include <stdlib.h>

#include "base/crc32c.h"
#include "base/enc.h"
#include "tsdb/index/index.h"
#include "tsdb/index/index_writer_private.h"

/*
 * Maximum number of elements that are sorted in one batch; an element (struct
 * use) is one label of one series. A full batch takes 6 MiB, and another 6 MiB
 * while it is sorted. If more series than this have a label name, the name gets
 * a batch of its own.
 */
#define BATCH_MAX ((size_t)512 * 1024)

/* Iterator over the series that were written, read back from the file. */
struct walk {
	const struct index_writer *w;
	const struct blob *blob;
	uint64_t at;
	uint32_t ref;
	struct index_series series;
};

/* Read the next series: returns 1, 0 at the end, or an error. */
static int walk_next(struct walk *k, struct err *err)
{
	uint64_t mask = INDEX_SERIES_ALIGN - 1;
	int rc;

	if (!k->at)
		k->at = k->w->toc.series;
	if (k->at >= k->w->series_end)
		return 0;
	k->ref = (uint32_t)(k->at / INDEX_SERIES_ALIGN);
	rc = index_entry(k->blob, k->at, &k->series, &k->at, err);
	k->at = (k->at + mask) & ~mask;
	return rc ? rc : 1;
}

/*
 * Write the list of references in *b. Its first 8 bytes are reserved for length
 * and count, which are set here. On return *b holds only 8 reserved bytes,
 * ready for the next list.
 */
static void put_list(struct index_writer *w, struct buf *b, uint32_t count)
{
	struct bytes content;

	put_be32(b->ptr, count * 4 + 4);
	put_be32(b->ptr + 4, count);
	outfile_add(&w->file, buf_bytes(b));
	content = (struct bytes){ .ptr = b->ptr + 4, .len = b->len - 4 };
	index_add_crc(w, crc32c_extend(0, content));
	buf_reset(b);
	enc_be64(b, 0);
}

/*
 * Write the list of all series, in the order in which they are in the file
 * (label order).
 */
static int put_all_list(struct index_writer *w, const struct blob *blob,
			struct err *err)
{
	struct walk k = { .w = w, .blob = blob };
	struct buf list = { 0 };
	int rc;

	enc_be64(&list, 0);
	while ((rc = walk_next(&k, err)) == 1)
		enc_be32(&list, k.ref);
	put_list(w, &list, w->series);
	index_series_fini(&k.series);
	buf_fini(&list);
	return rc;
}

/* Order for qsort: by label, then by series. */
static int by_pair(const void *a, const void *b)
{
	const struct use *x = a;
	const struct use *y = b;

	if (x->pair.name != y->pair.name)
		return x->pair.name < y->pair.name ? -1 : 1;
	if (x->pair.value != y->pair.value)
		return x->pair.value < y->pair.value ? -1 : 1;
	return x->ref < y->ref ? -1 : x->ref > y->ref;
}

static int by_symbol(const void *a, const void *b)
{
	const struct name *x = a;
	const struct name *y = b;

	return x->symbol < y->symbol ? -1 : x->symbol > y->symbol;
}

/* Whether two labels are the same. */
static bool same_pair(struct index_pair a, struct index_pair b)
{
	return a.name == b.name && a.value == b.value;
}

/* Write one list for each label in an array sorted by by_pair(). */
static void put_lists(struct index_writer *w, const struct use *v, size_t count)
{
	struct buf list = { 0 };
	size_t from = 0;

	enc_be64(&list, 0);
	for (size_t i = 0; i < count; i++) {
		enc_be32(&list, v[i].ref);
		if (i + 1 < count && same_pair(v[i].pair, v[i + 1].pair))
			continue;
		w->lists = mem_grow(w->lists, w->list_count, &w->list_cap,
				    sizeof(*w->lists));
		w->lists[w->list_count++] =
			(struct list){ v[i].pair, (uint32_t)(i + 1 - from) };
		put_list(w, &list, (uint32_t)(i + 1 - from));
		from = i + 1;
	}
	buf_fini(&list);
}

/*
 * Write the lists of all label names with symbol numbers in [first, last], in
 * one pass over the series. `count` is the number of labels with these names,
 * summed over all series.
 */
static int put_batch(struct index_writer *w, const struct blob *blob,
		     uint32_t first, uint32_t last, size_t count,
		     struct err *err)
{
	struct walk k = { .w = w, .blob = blob };
	struct use *v = mem_zalloc(count, sizeof(*v));
	size_t n = 0;
	int rc;

	while ((rc = walk_next(&k, err)) == 1) {
		for (size_t i = 0; i < k.series.pair_count; i++) {
			struct index_pair p = k.series.pairs[i];

			if (p.name < first || p.name > last || n == count)
				continue;
			v[n++] = (struct use){ .pair = p, .ref = k.ref };
		}
	}
	if (!rc) {
		if (n)
			qsort(v, n, sizeof(*v), by_pair);
		put_lists(w, v, n);
	}
	index_series_fini(&k.series);
	mem_free(v);
	return rc;
}

int index_put_postings(struct index_writer *w, const struct blob *blob,
		       struct err *err)
{
	int rc;

	outfile_pad(&w->file, INDEX_LIST_ALIGN);
	w->toc.postings = w->file.size;
	rc = put_all_list(w, blob, err);
	if (w->name_count)
		qsort(w->names, w->name_count, sizeof(*w->names), by_symbol);
	for (size_t i = 0; i < w->name_count && !rc;) {
		size_t count = w->names[i].count;
		size_t last = i;

		while (last + 1 < w->name_count &&
		       count + w->names[last + 1].count <= BATCH_MAX)
			count += w->names[++last].count;
		rc = put_batch(w, blob, w->names[i].symbol,
			       w->names[last].symbol, count, err);
		i = last + 1;
	}
	return rc;
}
