/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/index/index.h"

#include "base/crc32c.h"
#include "base/dec.h"
#include "base/enc.h"
#include "base/mem.h"
#include "tsdb/index/index_private.h"
#include "tsdb/index/index_select.h"

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
 * Each entry begins with the number of its strings, which is always 2: a label
 * name and a label value.
 */
struct table_entry entry_decode(struct dec *d)
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
	int rc = section_view(ix->blob, ix->toc.postings_table, &scratch,
			      &content, err);

	if (!rc && !read_names(ix, content, ix->toc.postings_table + 4))
		rc = index_report_damage(ix, ix->toc.postings_table, err);
	buf_fini(&scratch);
	return rc;
}

/* A list is damaged if its count does not agree with its length. */
int list_view(const struct index *ix, uint64_t at, struct buf *scratch,
	      struct dec *ids, uint32_t *count, struct err *err)
{
	struct bytes content = { 0 };
	int rc = section_view(ix->blob, at, scratch, &content, err);

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
 * Verifies the parts of the file that are needed for as long as the index is
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

/* Reads 4 bytes, the i-th reference, directly from the list of all series. */
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
 * Encodes the label set as alternating names and values, which labels_decode()
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
