/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/index/index_select.h"

#include "base/crc32c.h"
#include "base/dec.h"
#include "base/mem.h"
#include "tsdb/index/index_private.h"

/*
 * Compare the labels of the i-th series with ls: *order is negative, zero or
 * positive. *ref is set to the series' reference.
 */
static int index_compare(const struct index *ix, uint32_t i,
			 const struct labels *ls, uint32_t *ref, int *order,
			 struct err *err)
{
	struct index_series s = { 0 };
	struct labels *mine = NULL;
	int rc = index_ref(ix, i, ref, err);

	if (!rc)
		rc = index_series(ix, *ref, &s, err);
	if (!rc)
		rc = index_labels(ix, &s, &mine, err);
	if (!rc)
		*order = labels_cmp(mine, ls);
	labels_unref(mine);
	index_series_fini(&s);
	return rc;
}

/* Binary search: series are in label order. */
int index_find(const struct index *ix, const struct labels *ls, uint32_t *ref,
	       struct err *err)
{
	uint32_t low = 0;
	uint32_t high = ix->series;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		int order = 0;
		int rc = index_compare(ix, mid, ls, ref, &order, err);

		if (rc || !order)
			return rc;
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return ERR_NOTFOUND;
}

/* Binary search for a label name; NULL if no series has it. */
static const struct name *find_name(const struct index *ix, struct str text)
{
	size_t low = 0;
	size_t high = ix->name_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int order = str_cmp(ix->names[mid].text, text);

		if (!order)
			return &ix->names[mid];
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

/*
 * Number of rows of a label name. The entries of the name in the postings
 * offset table are divided into rows of 32 (the last row may have fewer). The
 * entries of a row are read together.
 */
static size_t rows_of(const struct name *n)
{
	return (n->count + INDEX_EVERY - 1) / INDEX_EVERY;
}

/*
 * Read row number `row` of a label name: the (up to) 32 entries from number
 * `row` * 32 on.
 */
static int index_row_view(const struct index *ix, const struct name *n,
			  size_t row, struct buf *scratch, struct dec *out,
			  struct err *err)
{
	uint64_t at = ix->every[n->first + row];
	uint64_t end = row + 1 < rows_of(n) ? ix->every[n->first + row + 1] :
					      n->end;
	struct bytes b = { 0 };
	int rc = blob_view(ix->blob, at, (size_t)(end - at), scratch, &b, err);

	*out = dec_init(b);
	return rc;
}

/*
 * Binary search for the row that may contain `value`: the last row whose first
 * value is not greater than `value`, or row 0.
 */
static int find_row(const struct index *ix, const struct name *n,
		    struct str value, size_t *row, struct err *err)
{
	struct buf scratch = { 0 };
	size_t low = 0;
	size_t high = rows_of(n);
	int rc = 0;

	while (high - low > 1 && !rc) {
		size_t mid = low + (high - low) / 2;
		struct dec d;

		rc = index_row_view(ix, n, mid, &scratch, &d, err);
		if (rc)
			break;
		if (str_cmp(entry_decode(&d).value, value) <= 0)
			low = mid;
		else
			high = mid;
	}
	*row = low;
	buf_fini(&scratch);
	return rc;
}

/*
 * find_row() finds the row by its first value; here the entries in the row are
 * searched one after another.
 */
int find_list(const struct index *ix, struct str name, struct str value,
	      uint64_t *list, struct err *err)
{
	const struct name *n = find_name(ix, name);
	struct buf scratch = { 0 };
	struct dec d = { 0 };
	size_t row = 0;
	int rc;

	if (!n)
		return ERR_NOTFOUND;
	rc = find_row(ix, n, value, &row, err);
	if (!rc)
		rc = index_row_view(ix, n, row, &scratch, &d, err);
	if (!rc)
		rc = ERR_NOTFOUND;
	while (rc == ERR_NOTFOUND && dec_left(&d)) {
		struct table_entry e = entry_decode(&d);

		if (!d.bad && str_eq(e.value, value)) {
			*list = e.list;
			rc = 0;
		}
	}
	buf_fini(&scratch);
	return rc;
}

/* Add the references of the postings list at offset `at` to `out`. */
static int add_list(const struct index *ix, uint64_t at, struct postings *out,
		    struct err *err)
{
	struct buf scratch = { 0 };
	struct dec ids;
	uint32_t count = 0;
	int rc = list_view(ix, at, &scratch, &ids, &count, err);

	for (uint32_t i = 0; i < count && !rc; i++)
		postings_add(out, dec_be32(&ids));
	buf_fini(&scratch);
	return rc;
}

/* Callback label_index.pair. An unknown label adds nothing. */
static int index_make_pair(const void *ctx, struct str name, struct str value,
			   struct postings *out, struct err *err)
{
	uint64_t at = 0;
	int rc = find_list(ctx, name, value, &at, err);

	if (rc)
		return rc == ERR_NOTFOUND ? 0 : rc;
	return add_list(ctx, at, out, err);
}

/*
 * Call fn for each value of the label name n until fn fails. If n is NULL,
 * there are no values. Damaged entries are skipped.
 */
static int each_value(const struct index *ix, const struct name *n,
		      int (*fn)(void *ctx, const struct table_entry *e,
				struct err *err),
		      void *ctx, struct err *err)
{
	struct buf scratch = { 0 };
	int rc = 0;

	for (size_t row = 0; n && row < rows_of(n) && !rc; row++) {
		struct dec d;

		rc = index_row_view(ix, n, row, &scratch, &d, err);
		while (!rc && dec_left(&d)) {
			struct table_entry e = entry_decode(&d);

			if (!d.bad)
				rc = fn(ctx, &e, err);
		}
	}
	buf_fini(&scratch);
	return rc;
}

/* Context of the callback add_match(). */
struct match {
	const struct index *ix;
	struct value_trial *trial;
	struct postings *out;
};

/*
 * Callback of each_value(): add the series with this label value if the value
 * fits.
 */
static int add_match(void *ctx, const struct table_entry *e, struct err *err)
{
	const struct match *m = ctx;
	bool fits;
	int rc = value_trial_run(m->trial, e->value, &fits, err);

	if (!rc && fits)
		rc = add_list(m->ix, e->list, m->out, err);
	return rc;
}

/* Callback label_index.matching. Tries the matcher on each distinct value. */
static int index_select_matching(const void *ctx, struct value_trial *t,
				 struct postings *out, struct err *err)
{
	const struct index *ix = ctx;
	struct match match = { ix, t, out };

	return each_value(ix, find_name(ix, t->m->name), add_match, &match,
			  err);
}

/*
 * Callback label_index.all. ix->all is the offset of the first reference; the
 * list itself begins 8 bytes before it, with its length and count.
 */
static int index_list_all(const void *ctx, struct postings *out,
			  struct err *err)
{
	const struct index *ix = ctx;

	return add_list(ix, ix->all - 8, out, err);
}

int index_select(const struct index *ix, const struct limits *limits,
		 const struct matcher *v, size_t count, struct postings *out,
		 struct err *err)
{
	struct label_index li = { .ctx = ix,
				  .limits = limits,
				  .pair = index_make_pair,
				  .matching = index_select_matching,
				  .all = index_list_all };

	return select_series(&li, v, count, out, err);
}

void index_names(const struct index *ix, index_text_fn fn, void *ctx)
{
	for (size_t i = 0; i < ix->name_count; i++) {
		/*
		 * An empty name is not a label: it marks the entry of the list
		 * of all series.
		 */
		if (ix->names[i].text.len)
			fn(ctx, ix->names[i].text);
	}
}

/* Context of tell_value(): the caller's callback and its context. */
struct telling {
	index_text_fn fn;
	void *ctx;
};

static int tell_value(void *ctx, const struct table_entry *e,
		      struct err *err UNUSED)
{
	const struct telling *t = ctx;

	t->fn(t->ctx, e->value);
	return 0;
}

int index_values(const struct index *ix, struct str name, index_text_fn fn,
		 void *ctx, struct err *err)
{
	struct telling t = { fn, ctx };
	/* An empty name is not a label: it marks the list of all series. */
	const struct name *n = name.len ? find_name(ix, name) : NULL;

	return each_value(ix, n, tell_value, &t, err);
}
