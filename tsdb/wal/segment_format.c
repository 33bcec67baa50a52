/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/wal/segment_format.h"

#include "base/crc32c.h"
#include "base/dec.h"
#include "base/enc.h"
#include "base/hash.h"
#include "base/mem.h"
#include "model/types.h"

#define FOOTER_MAGIC 0x45505745u /* "EPWE" */

/*
 * Each record has the labels and the type set, so that damage to one record
 * never makes another unreadable (docs/decisions.md, 1).
 */
int segment_profile_encode(const struct sample *s,
			   const struct segment_place *at, struct buf *out,
			   struct err *err)
{
	struct buf head = buf_init(RECORD_HEAD_MAX);
	size_t totals = typeset_count(s->typeset);
	struct record r = { .position = at->lsn,
			    .kind = at->kind,
			    .encoding = (uint8_t)s->encoding,
			    .body = s->body };
	bool over;

	if (s->body.len > RECORD_BODY_MAX)
		return err_set(
			err, ERR_TOOBIG,
			"the profile has %zu bytes, which is too large for a WAL record",
			s->body.len);
	enc_svarint(&head, s->ms);
	enc_be64(&head, s->hash);
	enc_uvarint(&head, s->raw_len);
	enc_svarint(&head, s->duration_ns);
	enc_svarint(&head, s->period);
	enc_uvarint(&head, s->sample_count);
	enc_uvarint(&head, totals);
	for (size_t i = 0; i < totals; i++)
		enc_svarint(&head, s->totals[i]);
	enc_str(&head, str_from(s->typeset));
	enc_str(&head, str_from(labels_bytes(s->labels)));
	enc_uvarint(&head, at->number);
	r.head = buf_bytes(&head);
	if (!head.over)
		record_encode(&r, at->salt, out);
	over = head.over || out->over;
	buf_fini(&head);
	if (over)
		return err_set(
			err, ERR_TOOBIG,
			"the labels and sample types of the profile are too large for a WAL record");
	return 0;
}

/* Whether records of a kind have a profile. */
static bool segment_has_profile(uint8_t kind)
{
	return kind == SEGMENT_PROFILE || kind == SEGMENT_RESEND;
}

int segment_profile_decode(const struct record *r, struct segment_profile *out,
			   struct err *err)
{
	struct dec d = dec_init(r->head);
	struct segment_profile p = {
		.entry = { .lsn = r->position, .len = (uint32_t)r->len },
		.encoding = (enum body_encoding)r->encoding,
		.body = r->body,
	};
	const uint8_t *totals;

	p.entry.ms = dec_svarint(&d);
	p.entry.hash = dec_be64(&d);
	p.entry.raw_len = (uint32_t)dec_count(&d, UINT32_MAX);
	p.duration_ns = dec_svarint(&d);
	p.period = dec_svarint(&d);
	p.sample_count = dec_uvarint(&d);
	p.total_count = (size_t)dec_count(&d, TYPES_MAX);
	totals = d.pos;
	for (size_t i = 0; i < p.total_count; i++)
		dec_svarint(&d);
	p.totals = (struct bytes){ .ptr = totals,
				   .len = (size_t)(d.pos - totals) };
	p.entry.typeset = bytes_of(dec_str(&d));
	p.entry.labels = bytes_of(dec_str(&d));
	if (dec_left(&d))
		p.number = dec_uvarint(&d);
	if (d.bad || dec_left(&d) || !segment_has_profile(r->kind) ||
	    typeset_count(p.entry.typeset) != p.total_count)
		return err_set(err, ERR_CORRUPT, "the record is not a profile");
	*out = p;
	return 0;
}

/* Equality callback for segment_texts.index. */
static bool segment_same_text(const void *ctx, uint32_t number, const void *key)
{
	const struct segment_texts *t = ctx;
	struct dec d = dec_init(buf_bytes(&t->text));

	d.pos += t->at[number];
	return str_eq(dec_str(&d), *(const struct str *)key);
}

/* Find the number of a text; a new text is added to the table. */
static uint32_t text_number(struct segment_texts *t, struct str s)
{
	uint64_t hash = hash_key(bytes_of(s));
	uint32_t n = table_find(&t->index, hash, segment_same_text, t, &s);

	if (n != TABLE_NONE)
		return n;
	t->at = mem_grow(t->at, t->count, &t->cap, sizeof(*t->at));
	t->at[t->count] = t->text.len;
	enc_str(&t->text, s);
	table_add(&t->index, hash, (uint32_t)t->count);
	return (uint32_t)t->count++;
}

/* Free what a table of texts owns. */
static void texts_fini(struct segment_texts *t)
{
	buf_fini(&t->text);
	mem_free(t->at);
	table_fini(&t->index);
	*t = (struct segment_texts){ 0 };
}

struct sample segment_profile_sample(const struct segment_profile *p,
				     int64_t *totals)
{
	struct dec d = dec_init(p->totals);

	for (size_t t = 0; t < p->total_count; t++)
		totals[t] = dec_svarint(&d);
	return (struct sample){ .ms = p->entry.ms,
				.encoding = p->encoding,
				.body = p->body,
				.raw_len = p->entry.raw_len,
				.hash = p->entry.hash,
				.typeset = p->entry.typeset,
				.totals = totals,
				.sample_count = p->sample_count,
				.duration_ns = p->duration_ns,
				.period = p->period };
}

void segment_dir_add(struct segment_dir *d, const struct segment_entry *e)
{
	uint64_t offset = (uint32_t)e->lsn;

	/* Records begin at multiples of 8. */
	enc_uvarint(&d->rows, (offset - d->last_offset) / 8);
	enc_uvarint(&d->rows, e->len);
	enc_uvarint(&d->rows, text_number(&d->labels, str_from(e->labels)));
	enc_uvarint(&d->rows, text_number(&d->typesets, str_from(e->typeset)));
	enc_svarint(&d->rows, wrap_sub(e->ms, d->last_ms));
	enc_be64(&d->rows, e->hash);
	enc_uvarint(&d->rows, e->raw_len);
	d->last_offset = offset;
	d->last_ms = e->ms;
	d->count++;
}

void segment_dir_number(struct segment_dir *d, uint64_t number)
{
	if (!d->numbers.first)
		d->numbers.first = number;
	d->numbers.next = number + 1;
}

void segment_dir_fini(struct segment_dir *d)
{
	buf_fini(&d->rows);
	texts_fini(&d->labels);
	texts_fini(&d->typesets);
	*d = (struct segment_dir){ 0 };
}

/* Write a table of texts: the count, then each text with its length. */
static void texts_encode(const struct segment_texts *t, struct buf *out)
{
	enc_uvarint(out, t->count);
	buf_add(out, t->text.ptr, t->text.len);
}

/*
 * The footer's checksum includes the salt, so that old bytes of a deleted file
 * are not mistaken for a footer.
 */
static uint32_t footer_crc(uint64_t salt, uint64_t offset)
{
	uint8_t covered[16];

	enc_put_be64(covered, salt);
	enc_put_be64(covered + 8, offset);
	return crc32c_extend(
		0, (struct bytes){ .ptr = covered, .len = sizeof(covered) });
}

void segment_dir_encode(const struct segment_dir *d, uint64_t salt,
			uint64_t lsn, struct buf *out)
{
	struct buf body = { 0 };
	struct record r = { .position = lsn, .kind = SEGMENT_DIRECTORY };

	texts_encode(&d->labels, &body);
	texts_encode(&d->typesets, &body);
	enc_uvarint(&body, d->count);
	buf_add(&body, d->rows.ptr, d->rows.len);
	enc_uvarint(&body, d->numbers.first);
	enc_uvarint(&body, d->numbers.next);
	r.body = buf_bytes(&body);
	record_encode(&r, salt, out);
	buf_fini(&body);
	enc_be64(out, (uint32_t)lsn);
	enc_be32(out, footer_crc(salt, (uint32_t)lsn));
	enc_be32(out, FOOTER_MAGIC);
}

bool segment_footer_decode(struct bytes footer, uint64_t salt, uint64_t *offset)
{
	struct dec d = dec_init(footer);
	uint64_t at = dec_be64(&d);
	uint32_t crc = dec_be32(&d);

	if (dec_be32(&d) != FOOTER_MAGIC || d.bad ||
	    crc != footer_crc(salt, at))
		return false;
	*offset = at;
	return true;
}

/*
 * Decode a table of texts into an array of *count views, which the caller
 * frees. Damage sets d->bad and leaves the remaining texts empty.
 */
static struct bytes *texts_decode(struct dec *d, size_t *count)
{
	struct bytes *v;

	*count = (size_t)dec_count(d, dec_left(d));
	v = mem_zalloc(*count, sizeof(*v));
	for (size_t i = 0; i < *count; i++)
		v[i] = bytes_of(dec_str(d));
	return v;
}

/*
 * The decoded tables of label sets and of type sets. Each row of the directory
 * has the number of a label set and of a type set.
 */
struct rows {
	struct bytes *labels;
	struct bytes *typesets;
	size_t label_count;
	size_t typeset_count;
};

/*
 * Decode one row of the directory into *e. On entry *e must hold the previous
 * row, because positions and times are stored as differences. A label set or
 * type set number that is too large sets d->bad.
 */
static void row_decode(struct dec *d, const struct rows *t,
		       struct segment_entry *e)
{
	size_t number;

	e->lsn += dec_uvarint(d) * 8;
	e->len = (uint32_t)dec_count(d, UINT32_MAX);
	number = (size_t)dec_uvarint(d);
	d->bad = d->bad || number >= t->label_count;
	e->labels = d->bad ? (struct bytes){ 0 } : t->labels[number];
	number = (size_t)dec_uvarint(d);
	d->bad = d->bad || number >= t->typeset_count;
	e->typeset = d->bad ? (struct bytes){ 0 } : t->typesets[number];
	e->ms = wrap_add(e->ms, dec_svarint(d));
	e->hash = dec_be64(d);
	e->raw_len = (uint32_t)dec_count(d, UINT32_MAX);
}

/*
 * Decode all rows and call `fn` (may be NULL) for each, and set *numbers. The
 * decoder `d` is passed by value, so that a caller can decode the same rows
 * twice. Returns false if the rows are damaged.
 */
static bool rows_decode(struct dec d, const struct rows *t, uint64_t segment,
			segment_entry_fn fn, void *ctx,
			struct segment_numbers *numbers)
{
	struct segment_entry e = { .lsn = segment << 32 };
	uint64_t count = dec_count(&d, dec_left(&d));

	for (uint64_t i = 0; i < count && !d.bad; i++) {
		row_decode(&d, t, &e);
		if (!d.bad && fn)
			fn(ctx, &e);
	}
	*numbers = (struct segment_numbers){ .first = 0 };
	if (dec_left(&d)) {
		numbers->first = dec_uvarint(&d);
		numbers->next = dec_uvarint(&d);
	}
	return !d.bad && !dec_left(&d);
}

int segment_dir_decode(struct bytes body, uint64_t segment, segment_entry_fn fn,
		       void *ctx, struct segment_numbers *numbers,
		       struct err *err)
{
	struct dec d = dec_init(body);
	struct rows t;
	bool ok;

	t.labels = texts_decode(&d, &t.label_count);
	t.typesets = texts_decode(&d, &t.typeset_count);
	/*
	 * The first pass only validates. If the directory is damaged, fn must
	 * not be called at all, because the caller then scans all records
	 * instead.
	 */
	ok = rows_decode(d, &t, segment, NULL, NULL, numbers) &&
	     rows_decode(d, &t, segment, fn, ctx, numbers);
	mem_free(t.labels);
	mem_free(t.typesets);
	return ok ? 0 :
		    err_set(err, ERR_CORRUPT,
			    "the directory of the WAL segment is damaged");
}
