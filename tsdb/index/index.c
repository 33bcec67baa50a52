/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/index/index.h"

#include "base/crc32c.h"
#include "base/dec.h"
#include "base/enc.h"
#include "base/mem.h"

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

static int find_list(const struct index *ix, struct str name, struct str value,
		     uint64_t *list, struct err *err);

#define LENGTH_MAX 10 /* largest size of a uvarint, in bytes */

/* Set and return ERR_CORRUPT, with the file and the offset of the damage. */
static int index_report_damage(const struct index *ix, uint64_t at,
			       struct err *err)
{
	return err_set(err, ERR_CORRUPT,
		       "%s: the index is damaged at offset %llu",
		       blob_path(ix->blob), (unsigned long long)at);
}

/* Check the magic number and the version of the index. */
static int read_front(struct index *ix, struct err *err)
{
	struct buf scratch = { 0 };
	struct bytes b = { 0 };
	struct dec d;
	int rc = blob_view(ix->blob, 0, INDEX_HEADER, &scratch, &b, err);

	if (!rc) {
		d = dec_init(b);
		/*
		 * The version has no checksum. An index of a newer format would
		 * not be opened, because meta.json states the format. Another
		 * version here is therefore damage (docs/decisions.md, 102).
		 */
		if (dec_be32(&d) != INDEX_MAGIC || dec_u8(&d) != INDEX_VERSION)
			rc = index_report_damage(ix, 0, err);
	}
	buf_fini(&scratch);
	return rc;
}

/* Read the table of contents at the end of the file. */
static int read_toc(struct index *ix, struct err *err)
{
	uint64_t size = blob_size(ix->blob);
	struct buf scratch = { 0 };
	struct bytes b = { 0 };
	struct bytes covered;
	struct dec d;
	int rc;

	if (size < INDEX_HEADER + INDEX_TOC)
		return index_report_damage(ix, size, err);
	rc = blob_view(ix->blob, size - INDEX_TOC, INDEX_TOC, &scratch, &b,
		       err);
	if (!rc) {
		covered = (struct bytes){ .ptr = b.ptr, .len = INDEX_TOC - 4 };
		d = dec_init(b);
		ix->toc.symbols = dec_be64(&d);
		ix->toc.series = dec_be64(&d);
		ix->toc.label_indices = dec_be64(&d);
		ix->toc.label_table = dec_be64(&d);
		ix->toc.postings = dec_be64(&d);
		ix->toc.postings_table = dec_be64(&d);
		if (dec_be32(&d) != crc32c_extend(0, covered))
			rc = index_report_damage(ix, size - INDEX_TOC, err);
	}
	buf_fini(&scratch);
	return rc;
}

/*
 * Decode the next entry of the postings offset table. Its texts borrow from the
 * bytes that d decodes. Damage sets d->bad.
 *
 * Each entry begins with the number of its strings, which is always 2: a label
 * name and a label value.
 */
static struct table_entry entry_decode(struct dec *d)
{
	struct table_entry e = { 0 };

	d->bad = d->bad || dec_uvarint(d) != 2;
	e.name = dec_str(d);
	e.value = dec_str(d);
	e.list = dec_uvarint(d);
	return e;
}

/* Append an offset to ix->every; *cap is the capacity of that array. */
static void every_add(struct index *ix, size_t *cap, uint64_t at)
{
	ix->every =
		mem_grow(ix->every, ix->every_count, cap, sizeof(*ix->every));
	ix->every[ix->every_count++] = at;
}

/*
 * Fill ix->names and ix->every from the content of the postings offset table
 * (see read_table()). `base` is the file offset of the content. Returns false
 * if the table is damaged.
 */
static bool read_names(struct index *ix, struct bytes content, uint64_t base)
{
	struct dec d = dec_init(content);
	uint32_t count = dec_be32(&d);
	size_t name_cap = 0;
	size_t every_cap = 0;
	struct name *n = NULL;

	for (uint32_t i = 0; i < count && !d.bad; i++) {
		uint64_t at = base + (uint64_t)(d.pos - content.ptr);
		struct table_entry e = entry_decode(&d);

		if (d.bad)
			break;
		/*
		 * Entries are sorted by name, so a name that differs from the
		 * previous entry's is new.
		 */
		if (!n || !str_eq(n->text, e.name)) {
			ix->names = mem_grow(ix->names, ix->name_count,
					     &name_cap, sizeof(*ix->names));
			n = &ix->names[ix->name_count++];
			*n = (struct name){ .first = ix->every_count };
			n->text.ptr = mem_dup(e.name.ptr, e.name.len);
			n->text.len = e.name.len;
		}
		if (n->count++ % INDEX_EVERY == 0)
			every_add(ix, &every_cap, at);
		n->end = base + (uint64_t)(d.pos - content.ptr);
	}
	return !d.bad && !dec_left(&d);
}

/*
 * Read and verify the postings offset table: for each label, the offset of the
 * list of series that have it.
 */
static int read_table(struct index *ix, struct err *err)
{
	struct buf scratch = { 0 };
	struct bytes content = { 0 };
	int rc = symbols_view_section(ix->blob, ix->toc.postings_table,
				      &scratch, &content, err);

	if (!rc && !read_names(ix, content, ix->toc.postings_table + 4))
		rc = index_report_damage(ix, ix->toc.postings_table, err);
	buf_fini(&scratch);
	return rc;
}

/*
 * Read and verify the list of series references at offset `at`. *ids is set to
 * a decoder at the first reference and borrows from `scratch`; *count is set to
 * the number of references. ERR_CORRUPT, ERR_IO.
 *
 * A list is damaged if its count does not agree with its length.
 */
NODISCARD static int list_view(const struct index *ix, uint64_t at,
			       struct buf *scratch, struct dec *ids,
			       uint32_t *count, struct err *err)
{
	struct bytes content = { 0 };
	int rc = symbols_view_section(ix->blob, at, scratch, &content, err);

	if (rc)
		return rc;
	*ids = dec_init(content);
	*count = dec_be32(ids);
	return ids->bad || dec_left(ids) != (size_t)*count * 4 ?
		       index_report_damage(ix, at, err) :
		       0;
}

/*
 * Find the list of all series (the table's entry with an empty name and value),
 * and verify it once: index_ref() later reads single references from the list,
 * and a single reference has no checksum.
 */
static int read_all_list(struct index *ix, struct err *err)
{
	static const struct str empty = { .ptr = "", .len = 0 };
	struct buf scratch = { 0 };
	struct dec ids;
	uint64_t at = 0;
	int rc = find_list(ix, empty, empty, &at, err);

	if (rc == ERR_NOTFOUND)
		return index_report_damage(ix, ix->toc.postings_table, err);
	if (!rc)
		rc = list_view(ix, at, &scratch, &ids, &ix->series, err);
	/*
	 * The references follow the list's length and count, which have 4 bytes
	 * each.
	 */
	ix->all = at + 8;
	buf_fini(&scratch);
	return rc;
}

/*
 * Verify the parts of the file that are needed for as long as the index is
 * open. Series entries and the lists of single labels are verified whenever
 * they are read.
 */
int index_open(struct blob *blob, struct index **out, struct err *err)
{
	struct index *ix = mem_new(struct index);
	int rc;

	ix->blob = blob;
	rc = read_front(ix, err);
	if (!rc)
		rc = read_toc(ix, err);
	if (!rc)
		rc = symbols_open(blob, ix->toc.symbols, &ix->symbols, err);
	if (!rc)
		rc = read_table(ix, err);
	if (!rc)
		rc = read_all_list(ix, err);
	if (rc)
		index_close(ix);
	else
		*out = ix;
	return rc;
}

void index_close(struct index *ix)
{
	if (!ix)
		return;
	for (size_t i = 0; i < ix->name_count; i++)
		mem_free(ix->names[i].text.ptr);
	mem_free(ix->names);
	mem_free(ix->every);
	symbols_fini(&ix->symbols);
	blob_close(ix->blob);
	mem_free(ix);
}

const struct symbols *index_symbols(const struct index *ix)
{
	return &ix->symbols;
}

uint32_t index_series_count(const struct index *ix)
{
	return ix->series;
}

/* Read 4 bytes, the i-th reference, directly from the list of all series. */
int index_ref(const struct index *ix, uint32_t i, uint32_t *ref,
	      struct err *err)
{
	struct buf scratch = { 0 };
	struct bytes b = { 0 };
	struct dec d;
	int rc = blob_view(ix->blob, ix->all + (uint64_t)i * 4, 4, &scratch, &b,
			   err);

	d = dec_init(b);
	*ref = dec_be32(&d);
	buf_fini(&scratch);
	return rc;
}

void index_series_fini(struct index_series *s)
{
	mem_free(s->pairs);
	mem_free(s->chunks);
	*s = (struct index_series){ 0 };
}

/* Decode the labels of a series. */
static void pairs_decode(struct dec *d, struct index_series *out)
{
	uint64_t n = dec_count(d, dec_left(d));

	out->pair_count = 0;
	for (uint64_t i = 0; i < n && !d->bad; i++) {
		out->pairs = mem_grow(out->pairs, out->pair_count,
				      &out->pair_cap, sizeof(*out->pairs));
		out->pairs[out->pair_count++] = (struct index_pair){
			.name = (uint32_t)dec_count(d, UINT32_MAX),
			.value = (uint32_t)dec_count(d, UINT32_MAX),
		};
	}
}

/*
 * Decode the chunks of a series. Each chunk but the first is stored as
 * differences to the chunk before it. The additions are unsigned, because
 * signed overflow is undefined.
 */
static void chunks_decode(struct dec *d, struct index_series *out)
{
	uint64_t n = dec_count(d, dec_left(d));
	struct index_chunk c = { 0 };

	out->chunk_count = 0;
	for (uint64_t i = 0; i < n && !d->bad; i++) {
		if (i) {
			c.min = (int64_t)((uint64_t)c.max + dec_uvarint(d));
			c.max = (int64_t)((uint64_t)c.min + dec_uvarint(d));
			c.ref += (uint64_t)dec_svarint(d);
		} else {
			c.min = dec_svarint(d);
			c.max = (int64_t)((uint64_t)c.min + dec_uvarint(d));
			c.ref = dec_uvarint(d);
		}
		out->chunks = mem_grow(out->chunks, out->chunk_count,
				       &out->chunk_cap, sizeof(*out->chunks));
		out->chunks[out->chunk_count++] = c;
	}
}

/*
 * The first read covers the longest possible length field; the second read
 * covers the entry and its checksum.
 */
int index_entry(const struct blob *blob, uint64_t offset,
		struct index_series *out, uint64_t *end, struct err *err)
{
	uint64_t left = blob_size(blob) > offset ? blob_size(blob) - offset : 0;
	struct buf scratch = { 0 };
	struct bytes b = { 0 };
	struct bytes data;
	struct dec d;
	uint64_t len;
	size_t head;
	int rc = blob_view(blob, offset, left < LENGTH_MAX ? left : LENGTH_MAX,
			   &scratch, &b, err);

	d = dec_init(b);
	len = dec_count(&d, UINT32_MAX);
	head = (size_t)(d.pos - b.ptr);
	if (!rc && d.bad)
		rc = ERR_CORRUPT;
	if (!rc)
		rc = blob_view(blob, offset + head, (size_t)len + 4, &scratch,
			       &b, err);
	if (!rc) {
		d = dec_init(b);
		data = dec_bytes(&d, (size_t)len);
		if (dec_be32(&d) != crc32c_extend(0, data))
			rc = ERR_CORRUPT;
		d = dec_init(data);
	}
	if (!rc) {
		pairs_decode(&d, out);
		chunks_decode(&d, out);
		if (d.bad || dec_left(&d))
			rc = ERR_CORRUPT;
	}
	buf_fini(&scratch);
	if (end)
		*end = offset + head + len + 4;
	if (rc == ERR_CORRUPT)
		err_set(err, rc, "%s: damaged series at offset %llu",
			blob_path(blob), (unsigned long long)offset);
	return rc;
}

int index_series(const struct index *ix, uint32_t ref, struct index_series *out,
		 struct err *err)
{
	return index_entry(ix->blob, (uint64_t)ref * INDEX_SERIES_ALIGN, out,
			   NULL, err);
}

/*
 * Encode the label set as alternating names and values, which labels_decode()
 * reads.
 */
int index_labels(const struct index *ix, const struct index_series *s,
		 struct labels **out, struct err *err)
{
	struct buf scratch = { 0 };
	struct buf encoded = { 0 };
	int rc = 0;

	enc_uvarint(&encoded, s->pair_count);
	for (size_t i = 0; i < 2 * s->pair_count && !rc; i++) {
		const struct index_pair *p = &s->pairs[i / 2];
		struct str text = { 0 };

		rc = symbols_get(&ix->symbols, i % 2 ? p->value : p->name,
				 &scratch, &text, err);
		enc_str(&encoded, text);
	}
	if (!rc) {
		rc = labels_decode(buf_bytes(&encoded), out, err);
		if (rc)
			err_wrap(err, rc, "%s: the labels of a series",
				 blob_path(ix->blob));
	}
	buf_fini(&encoded);
	buf_fini(&scratch);
	return rc;
}

/*
 * Selecting series of an index by matchers, and listing its label names and
 * values. The public functions are declared in index.h.
 */

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
 * Find the offset of the list of series that have this label value.
 * ERR_NOTFOUND: no series has the label value; `err` is not set. ERR_CORRUPT,
 * ERR_IO: the index cannot be read.
 *
 * find_row() finds the row by its first value; here the entries in the row are
 * searched one after another.
 */
NODISCARD static int find_list(const struct index *ix, struct str name,
			       struct str value, uint64_t *list,
			       struct err *err)
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
