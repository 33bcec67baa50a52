/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/index/index_writer.h"

#include <stdlib.h>

#include "base/crc32c.h"
#include "base/enc.h"
#include "base/hash.h"
#include "base/table.h"
#include "base/vec.h"
#include "tsdb/index/index.h"
#include "tsdb/index/symbols.h"
#include "tsdb/io/blob.h"

/* A label name (its symbol number), and the number of series that have it. */
struct name {
	uint32_t symbol;
	uint32_t count;
};

/*
 * A postings list that was written: its label and its number of series. The
 * offset of a list need not be stored: it is computed from the lengths of the
 * lists before it.
 */
struct list {
	struct index_pair pair;
	uint32_t count;
};

/*
 * One label of one series, as an element of the array that is sorted by label.
 */
struct use {
	struct index_pair pair;
	uint32_t ref;
};

struct index_writer {
	struct fs *fs;
	struct outfile file;
	struct index_toc toc;
	uint32_t symbols_crc; /* checksum of the symbols written so far */
	bool symbols_closed;
	uint32_t series;
	uint64_t series_end; /* file offset after the last series */
	struct buf scratch;

	struct name *names; /* every label name in use */
	size_t name_count;
	size_t name_cap;
	struct table names_index;

	struct list *lists; /* postings lists, in the order of the file */
	size_t list_count;
	size_t list_cap;
};

/*
 * Writes the postings lists of an index (for each label, the series that have
 * it), in batches of label names.
 *
 * Ownership, threads: as for the index writer.
 */

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

/* Write the CRC that ends a section or entry. */
static void index_add_crc(struct index_writer *w, uint32_t crc)
{
	uint8_t b[4];

	enc_put_be32(b, crc);
	outfile_add(&w->file, (struct bytes){ .ptr = b, .len = sizeof(b) });
}

/*
 * Write the list of references in *b. Its first 8 bytes are reserved for length
 * and count, which are set here. On return *b holds only 8 reserved bytes,
 * ready for the next list.
 */
static void put_list(struct index_writer *w, struct buf *b, uint32_t count)
{
	struct bytes content;

	enc_put_be32(b->ptr, count * 4 + 4);
	enc_put_be32(b->ptr + 4, count);
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

/*
 * Write all postings lists: first the list of all series; then, in batches of
 * label names, one list per label. blob is the index file as written so far.
 */
NODISCARD static int index_put_postings(struct index_writer *w,
					const struct blob *blob,
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

int index_writer_new(struct fs *fs, const char *path, uint32_t symbols,
		     uint64_t bytes, struct index_writer **out, struct err *err)
{
	struct index_writer *w;
	struct buf *b;
	int rc;

	if (bytes + 4 > UINT32_MAX)
		return err_set(
			err, ERR_TOOBIG,
			"%s: the label strings have %llu bytes; an index can hold at most 4 GiB of them; reduce the number of distinct label values",
			path, (unsigned long long)bytes);
	w = mem_new(struct index_writer);
	w->fs = fs;
	rc = outfile_open(&w->file, fs, path, err);
	if (rc) {
		index_writer_free(w);
		return rc;
	}
	b = &w->scratch;
	enc_be32(b, INDEX_MAGIC);
	buf_byte(b, INDEX_VERSION);
	enc_be32(b, (uint32_t)bytes + 4);
	enc_be32(b, symbols);
	outfile_add(&w->file, buf_bytes(b));
	w->toc.symbols = INDEX_HEADER;
	w->symbols_crc =
		crc32c_extend(0, (struct bytes){ .ptr = b->ptr + 9, .len = 4 });
	*out = w;
	return 0;
}

void index_writer_free(struct index_writer *w)
{
	if (!w)
		return;
	outfile_close(&w->file);
	buf_fini(&w->scratch);
	mem_free(w->names);
	table_fini(&w->names_index);
	mem_free(w->lists);
	mem_free(w);
}

void index_writer_symbol(struct index_writer *w, struct str s)
{
	buf_reset(&w->scratch);
	enc_str(&w->scratch, s);
	w->symbols_crc = crc32c_extend(w->symbols_crc, buf_bytes(&w->scratch));
	outfile_add(&w->file, buf_bytes(&w->scratch));
}

/*
 * End the section of symbols. Called before the first series is written, or by
 * index_writer_finish() if there is no series.
 */
static void close_symbols(struct index_writer *w)
{
	if (w->symbols_closed)
		return;
	w->symbols_closed = true;
	index_add_crc(w, w->symbols_crc);
	outfile_pad(&w->file, INDEX_SERIES_ALIGN);
	w->toc.series = w->file.size;
	w->series_end = w->file.size;
}

/* Equality callback of the hash table `names_index`. */
static bool index_writer_same_name(const void *ctx, uint32_t number,
				   const void *key)
{
	const struct index_writer *w = ctx;

	return w->names[number].symbol == *(const uint32_t *)key;
}

/*
 * Count one more series with a label name; the counts decide which names fit
 * into one batch of postings.
 */
static void count_name(struct index_writer *w, uint32_t symbol)
{
	uint64_t hash = hash_number(symbol);
	uint32_t n = table_find(&w->names_index, hash, index_writer_same_name,
				w, &symbol);

	if (n == TABLE_NONE) {
		w->names = mem_grow(w->names, w->name_count, &w->name_cap,
				    sizeof(*w->names));
		n = (uint32_t)w->name_count++;
		w->names[n] = (struct name){ .symbol = symbol };
		table_add(&w->names_index, hash, n);
	}
	w->names[n].count++;
}

/* Each chunk but the first is stored as differences to the chunk before it. */
static void encode_chunks(const struct index_chunk *v, size_t count,
			  struct buf *out)
{
	enc_uvarint(out, count);
	for (size_t i = 0; i < count; i++) {
		if (i) {
			enc_uvarint(out, (uint64_t)v[i].min -
						 (uint64_t)v[i - 1].max);
			enc_uvarint(out,
				    (uint64_t)v[i].max - (uint64_t)v[i].min);
			enc_svarint(out, (int64_t)(v[i].ref - v[i - 1].ref));
		} else {
			enc_svarint(out, v[i].min);
			enc_uvarint(out,
				    (uint64_t)v[i].max - (uint64_t)v[i].min);
			enc_uvarint(out, v[i].ref);
		}
	}
}

void index_writer_series(struct index_writer *w, const struct index_pair *pairs,
			 size_t pair_count, const struct index_chunk *chunks,
			 size_t chunk_count)
{
	struct buf *b = &w->scratch;
	struct buf len = { 0 };

	close_symbols(w);
	outfile_pad(&w->file, INDEX_SERIES_ALIGN);
	buf_reset(b);
	enc_uvarint(b, pair_count);
	for (size_t i = 0; i < pair_count; i++) {
		enc_uvarint(b, pairs[i].name);
		enc_uvarint(b, pairs[i].value);
		count_name(w, pairs[i].name);
	}
	encode_chunks(chunks, chunk_count, b);
	enc_uvarint(&len, b->len);
	outfile_add(&w->file, buf_bytes(&len));
	outfile_add(&w->file, buf_bytes(b));
	index_add_crc(w, crc32c_extend(0, buf_bytes(b)));
	w->series_end = w->file.size;
	w->series++;
	buf_fini(&len);
}

/*
 * Encode one entry of the postings offset table: a label and the offset of its
 * list.
 */
static int encode_entry(const struct symbols *s, struct index_pair pair,
			uint64_t at, struct buf *out, struct err *err)
{
	struct buf scratch = { 0 };
	struct str text = { 0 };
	int rc;

	buf_reset(out);
	enc_uvarint(out, 2);
	rc = symbols_get(s, pair.name, &scratch, &text, err);
	enc_str(out, text);
	if (!rc)
		rc = symbols_get(s, pair.value, &scratch, &text, err);
	enc_str(out, text);
	enc_uvarint(out, at);
	buf_fini(&scratch);
	return rc;
}

/* Size in bytes of a postings list: length, count, references, CRC. */
static uint64_t list_len(uint32_t count)
{
	return 4 + 4 + 4 * (uint64_t)count + 4;
}

/*
 * Encode all entries of the postings offset table and add their size to *len.
 * If `crc` is not NULL, also write the entries and update *crc. Called twice,
 * because the size of all entries must be written before them.
 */
static int walk_table(struct index_writer *w, const struct symbols *s,
		      uint64_t *len, uint32_t *crc, struct err *err)
{
	uint64_t at = w->toc.postings;
	struct buf *b = &w->scratch;
	int rc = 0;

	buf_reset(b);
	enc_uvarint(b, 2);
	enc_be16(b, 0); /* empty name and value: the list of all series */
	enc_uvarint(b, at);
	at += list_len(w->series);
	for (size_t i = 0; !rc; i++) {
		*len += b->len;
		if (crc) {
			*crc = crc32c_extend(*crc, buf_bytes(b));
			outfile_add(&w->file, buf_bytes(b));
		}
		if (i == w->list_count)
			break;
		rc = encode_entry(s, w->lists[i].pair, at, b, err);
		at += list_len(w->lists[i].count);
	}
	return rc;
}

/*
 * Write the label offset table and the postings offset table. The label offset
 * table is empty, because Prometheus no longer reads it.
 */
static int put_tables(struct index_writer *w, const struct blob *blob,
		      struct err *err)
{
	struct symbols s = { 0 };
	uint8_t front[8];
	struct bytes b = { .ptr = front, .len = sizeof(front) };
	struct bytes count = { .ptr = front + 4, .len = 4 };
	uint64_t len = 4;
	uint64_t again = 0;
	uint32_t crc;
	int rc = symbols_open(blob, w->toc.symbols, &s, err);

	if (rc)
		return rc;
	w->toc.label_table = w->file.size;
	enc_put_be32(front, 4);
	enc_put_be32(front + 4, 0);
	outfile_add(&w->file, b);
	index_add_crc(w, crc32c_extend(0, count));
	w->toc.postings_table = w->file.size;
	rc = walk_table(w, &s, &len, NULL, err);
	if (!rc && len > UINT32_MAX)
		rc = err_set(
			err, ERR_TOOBIG,
			"%s: the table of the different labels (pairs of name and value) is larger than 4 GiB, the most that an index can hold; reduce the number of distinct label values",
			file_path(w->file.file));
	if (!rc) {
		enc_put_be32(front, (uint32_t)len);
		enc_put_be32(front + 4, (uint32_t)w->list_count + 1);
		outfile_add(&w->file, b);
		crc = crc32c_extend(0, count);
		rc = walk_table(w, &s, &again, &crc, err);
		index_add_crc(w, crc);
	}
	symbols_fini(&s);
	return rc;
}

static void put_toc(struct index_writer *w)
{
	struct buf *b = &w->scratch;

	buf_reset(b);
	enc_be64(b, w->toc.symbols);
	enc_be64(b, w->toc.series);
	enc_be64(b, w->toc.label_indices);
	enc_be64(b, w->toc.label_table);
	enc_be64(b, w->toc.postings);
	enc_be64(b, w->toc.postings_table);
	enc_be32(b, crc32c_extend(0, buf_bytes(b)));
	outfile_add(&w->file, buf_bytes(b));
}

/*
 * Check that references can address all series: a reference is an offset in the
 * file in units of 16 bytes, and has 32 bits.
 */
static int check_size(const struct index_writer *w, struct err *err)
{
	if (w->series_end / INDEX_SERIES_ALIGN <= UINT32_MAX)
		return 0;
	return err_set(
		err, ERR_TOOBIG,
		"%s: the series take more than the 64 GiB that an index can address; use fewer series",
		file_path(w->file.file));
}

int index_writer_finish(struct index_writer *w, uint64_t *size, uint32_t *crc,
			struct err *err)
{
	struct blob *blob = NULL;
	int rc;

	close_symbols(w);
	rc = check_size(w, err);
	if (!rc)
		rc = outfile_flush(&w->file, err);
	if (!rc)
		rc = blob_open(w->fs, file_path(w->file.file), BLOB_MAP, &blob,
			       err);
	if (!rc)
		rc = index_put_postings(w, blob, err);
	if (!rc)
		rc = put_tables(w, blob, err);
	/*
	 * After an error the rest may be written nevertheless, because nobody
	 * uses the file.
	 */
	blob_close(blob);
	put_toc(w);
	if (!rc)
		rc = outfile_finish(&w->file, err);
	*size = w->file.size;
	*crc = w->file.crc;
	return rc;
}
