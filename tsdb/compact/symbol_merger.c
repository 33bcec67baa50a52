/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/compact/symbol_merger.h"

#include <stdlib.h>

#include "base/enc.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/mutex.h"
#include "base/table.h"

/* A label text that is used in a head, and its number in the merged list. */
struct word {
	struct str text;
	uint32_t number;
};

struct symbol_merger {
	const struct part *parts;
	size_t count;
	/*
	 * maps[part][number of a symbol in the part]: the number of the symbol
	 * in the merged list. maps[part] is NULL if the part is a head.
	 */
	uint32_t **maps;

	/* Label texts of all heads, sorted, without duplicates. */
	struct word *words;
	size_t word_count;
	size_t word_cap;
	struct table index; /* finds the index of a word by its text */

	uint32_t symbols; /* number of merged symbols */
	uint64_t bytes;   /* bytes that all symbols take in the index file */
	struct buf text;  /* copy of the current symbol */
};

/*
 * The text is not copied: the head keeps each text as long as the head exists.
 */
static void symbol_merger_add_word(struct symbol_merger *l, struct str text)
{
	l->words = mem_grow(l->words, l->word_count, &l->word_cap,
			    sizeof(*l->words));
	l->words[l->word_count++] = (struct word){ .text = text };
}

/* Collect all label names and values of a head, with duplicates. */
static void symbol_merger_add_range(struct symbol_merger *l, struct head *r)
{
	mutex_lock(&r->mu);
	for (size_t i = 0; i < r->index.count; i++) {
		const struct mem_name *n = &r->index.names[i];

		symbol_merger_add_word(l, n->text);
		for (size_t k = 0; k < n->count; k++)
			symbol_merger_add_word(l, n->values[k].text);
	}
	mutex_unlock(&r->mu);
}

static int symbol_merger_by_text(const void *a, const void *b)
{
	return str_cmp(((const struct word *)a)->text,
		       ((const struct word *)b)->text);
}

/* Sort the words, drop duplicates, and index them by hash. */
static void sort_words(struct symbol_merger *l)
{
	size_t kept = 0;

	if (l->word_count)
		qsort(l->words, l->word_count, sizeof(*l->words),
		      symbol_merger_by_text);
	for (size_t i = 0; i < l->word_count; i++) {
		if (!kept || !str_eq(l->words[i].text, l->words[kept - 1].text))
			l->words[kept++] = l->words[i];
	}
	l->word_count = kept;
	for (uint32_t i = 0; i < kept; i++)
		table_add(&l->index, hash_key(bytes_of(l->words[i].text)), i);
}

/*
 * One of the sorted lists that are merged: the symbols of one block, or the
 * words of all heads together.
 */
struct stream {
	struct symbols_iter it;
	/*
	 * The block's array in `maps`; NULL if the stream is the words of
	 * heads.
	 */
	uint32_t *map;
	struct str text;
	uint32_t number; /* number of words read so far; used for heads only */
	bool some;       /* whether `text` is set; false at the end */
};

/* Advance a stream to its next text, or to the end. */
static int stream_next(struct symbol_merger *l, struct stream *s,
		       struct err *err)
{
	int rc;

	if (!s->map) {
		s->some = s->number < l->word_count;
		if (s->some)
			s->text = l->words[s->number++].text;
		return 0;
	}
	rc = symbols_next(&s->it, &s->text, err);
	s->some = rc == 1;
	return rc < 0 ? rc : 0;
}

/*
 * Give a text the next number, write the text if w is not NULL, and advance all
 * streams whose current text is the same.
 */
static int symbol_merger_emit(struct symbol_merger *l, struct stream *v,
			      size_t count, struct str text,
			      struct index_writer *w, struct err *err)
{
	int rc = 0;

	/*
	 * Copy the text, because it becomes invalid when its stream advances.
	 * The copy begins with the encoded length of the text, so that l->bytes
	 * counts the length, too.
	 */
	buf_reset(&l->text);
	enc_str(&l->text, text);
	l->bytes += l->text.len;
	text.ptr = str_from(buf_bytes(&l->text)).ptr + l->text.len - text.len;
	if (w)
		index_writer_symbol(w, text);
	for (size_t i = 0; i < count && !rc; i++) {
		struct stream *s = &v[i];

		if (!s->some || !str_eq(s->text, text))
			continue;
		if (s->map)
			s->map[s->it.number - 1] = l->symbols;
		else
			l->words[s->number - 1].number = l->symbols;
		rc = stream_next(l, s, err);
	}
	l->symbols++;
	return rc;
}

/* The stream with the smallest text; NULL when all are at the end. */
static const struct stream *symbol_merger_find_smallest(const struct stream *v,
							size_t count)
{
	const struct stream *min = NULL;

	for (size_t i = 0; i < count; i++) {
		if (v[i].some && (!min || str_cmp(v[i].text, min->text) < 0))
			min = &v[i];
	}
	return min;
}

/*
 * Merge all streams. This runs twice: the first time to number the symbols, the
 * second time to write them. Keeping the texts of all blocks instead would take
 * much memory.
 */
static int symbol_merger_walk(struct symbol_merger *l, struct index_writer *w,
			      struct err *err)
{
	struct stream *v = mem_zalloc(l->count + 1, sizeof(*v));
	const struct stream *min;
	/* The first stream has the words of all heads. */
	size_t n = 1;
	int rc;

	l->symbols = 0;
	l->bytes = 0;
	rc = stream_next(l, &v[0], err);
	for (size_t i = 0; i < l->count && !rc; i++) {
		if (l->parts[i].head)
			continue;
		v[n].map = l->maps[i];
		v[n].it = symbols_iter(index_symbols(l->parts[i].block->index));
		rc = stream_next(l, &v[n++], err);
	}
	while (!rc && (min = symbol_merger_find_smallest(v, n)))
		rc = symbol_merger_emit(l, v, n, min->text, w, err);
	for (size_t i = 1; i < n; i++)
		symbols_iter_fini(&v[i].it);
	mem_free(v);
	return rc;
}

int symbol_merger_new(const struct part *parts, size_t count,
		      struct symbol_merger **out, struct err *err)
{
	struct symbol_merger *l = mem_new(struct symbol_merger);
	int rc;

	l->parts = parts;
	l->count = count;
	l->maps = mem_zalloc(count, sizeof(*l->maps));
	for (size_t i = 0; i < count; i++) {
		if (parts[i].head)
			symbol_merger_add_range(l, parts[i].head);
		else
			l->maps[i] = mem_zalloc(
				index_symbols(parts[i].block->index)->count,
				sizeof(**l->maps));
	}
	sort_words(l);
	rc = symbol_merger_walk(l, NULL, err);
	if (rc)
		symbol_merger_free(l);
	else
		*out = l;
	return rc;
}

void symbol_merger_free(struct symbol_merger *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->count; i++)
		mem_free(l->maps[i]);
	mem_free(l->maps);
	mem_free(l->words);
	table_fini(&l->index);
	buf_fini(&l->text);
	mem_free(l);
}

uint32_t symbol_merger_count(const struct symbol_merger *l)
{
	return l->symbols;
}

uint64_t symbol_merger_bytes(const struct symbol_merger *l)
{
	return l->bytes;
}

int symbol_merger_write(struct symbol_merger *l, struct index_writer *w,
			struct err *err)
{
	return symbol_merger_walk(l, w, err);
}

/* Compare a word with a text, for the hash table. */
static bool same_word(const void *ctx, uint32_t number, const void *key)
{
	const struct symbol_merger *l = ctx;

	return str_eq(l->words[number].text, *(const struct str *)key);
}

/*
 * The number of a head's label text in the merged list. The text is always
 * found, because the series of the head are listed before its texts are
 * collected.
 */
static uint32_t symbol_merger_number_of(const struct symbol_merger *l,
					struct str text)
{
	uint32_t n = table_find(&l->index, hash_key(bytes_of(text)), same_word,
				l, &text);

	return n == TABLE_NONE ? 0 : l->words[n].number;
}

/*
 * Translate the labels of a head's series. Labels are immutable, so the lock
 * protects only the array of series.
 */
static void symbol_merger_head_pairs(struct symbol_merger *l, struct head *r,
				     uint32_t series, struct index_series *out)
{
	struct labels_iter it;
	struct label label;

	mutex_lock(&r->mu);
	it = labels_iter(r->series[series]->labels);
	mutex_unlock(&r->mu);
	out->pair_count = 0;
	while (labels_next(&it, &label)) {
		out->pairs = mem_grow(out->pairs, out->pair_count,
				      &out->pair_cap, sizeof(*out->pairs));
		out->pairs[out->pair_count++] = (struct index_pair){
			symbol_merger_number_of(l, label.name),
			symbol_merger_number_of(l, label.value)
		};
	}
}

int symbol_merger_pairs(struct symbol_merger *l, uint32_t part, uint32_t series,
			struct index_series *out, struct err *err)
{
	struct part p = l->parts[part];
	int rc;

	if (p.head) {
		symbol_merger_head_pairs(l, p.head, series, out);
		return 0;
	}
	rc = index_series(p.block->index, series, out, err);
	for (size_t i = 0; i < out->pair_count && !rc; i++) {
		struct index_pair *pair = &out->pairs[i];
		uint32_t count = index_symbols(p.block->index)->count;

		/*
		 * The numbers come from a file: check them before they index
		 * the map.
		 */
		if (pair->name >= count || pair->value >= count)
			return err_set(
				err, ERR_CORRUPT,
				"%s: the index is damaged: a label of a series refers to a string that is not in the string table",
				p.block->path);
		pair->name = l->maps[part][pair->name];
		pair->value = l->maps[part][pair->value];
	}
	return rc;
}
