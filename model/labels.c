/* SPDX-License-Identifier: Apache-2.0 */
#include "model/labels.h"

#include <stdlib.h>

#include "base/dec.h"
#include "base/digest.h"
#include "base/enc.h"
#include "base/hash.h"
#include "base/mem.h"

/*
 * Check an encoding from an untrusted source once, so that iterators need not
 * check it again.
 */
static int labels_check(struct bytes encoded, struct err *err)
{
	struct dec d = dec_init(encoded);
	uint64_t count = dec_count(&d, LABELS_MAX);
	struct str last = { .ptr = "", .len = 0 };

	if (encoded.len > LABELS_BYTES_MAX)
		return err_set(
			err, ERR_CORRUPT,
			"the label set has %zu bytes; at most %d are allowed",
			encoded.len, LABELS_BYTES_MAX);
	for (uint64_t i = 0; i < count && !d.bad; i++) {
		struct str name = dec_str(&d);
		struct str value = dec_str(&d);

		if (d.bad)
			break;
		/*
		 * Names ascend strictly and no value is empty, as
		 * labels_build() writes them; labels_cmp() relies on the order.
		 */
		if (!name.len || !value.len || str_cmp(last, name) >= 0)
			return err_set(
				err, ERR_CORRUPT,
				"the label set is damaged: a label is empty or out of order");
		if (name.len > LABEL_NAME_MAX)
			return err_set(
				err, ERR_CORRUPT,
				"the label set is damaged: a label name of %zu bytes is too long",
				name.len);
		if (!str_is_utf8(name) || !str_is_utf8(value))
			return err_set(
				err, ERR_CORRUPT,
				"the label set is damaged: a label is not UTF-8");
		last = name;
	}
	if (d.bad || dec_left(&d) || !count)
		return err_set(
			err, ERR_CORRUPT,
			"the label set is damaged: its length, or the number of its labels, is wrong");
	return 0;
}

/*
 * Make a label set with one reference from an encoding that is known to be
 * valid.
 */
static struct labels *labels_of(struct bytes encoded)
{
	struct labels *ls = mem_alloc(sizeof(*ls) + encoded.len);

	atomic_init(&ls->refs, 1);
	ls->len = (uint32_t)encoded.len;
	ls->hash = hash_key(encoded);
	bytes_copy(ls->data, encoded);
	return ls;
}

int labels_decode(struct bytes encoded, struct labels **out, struct err *err)
{
	int rc = labels_check(encoded, err);

	if (!rc)
		*out = labels_of(encoded);
	return rc;
}

uint64_t labels_digest(const struct labels *ls)
{
	uint8_t digest[DIGEST_SHA256_SIZE];
	struct dec d = dec_init((struct bytes){ digest, sizeof(digest) });

	digest_sha256(labels_bytes(ls), digest);
	return dec_be64(&d);
}

struct labels *labels_ref(struct labels *ls)
{
	atomic_fetch_add_explicit(&ls->refs, 1, memory_order_relaxed);
	return ls;
}

void labels_unref(struct labels *ls)
{
	/*
	 * As a release, the decrement publishes this thread's use of the set;
	 * as an acquire, it makes the last thread see all uses before it frees
	 * the set.
	 */
	if (ls &&
	    atomic_fetch_sub_explicit(&ls->refs, 1, memory_order_acq_rel) == 1)
		mem_free(ls);
}

struct labels_iter labels_iter(const struct labels *ls)
{
	struct dec d = dec_init(labels_bytes(ls));
	uint32_t count = (uint32_t)dec_uvarint(&d);

	return (struct labels_iter){ .pos = d.pos, .left = count };
}

/*
 * Read a varint length without bounds checks: labels_check() has checked the
 * encoding.
 */
static size_t checked_len(const uint8_t **pos)
{
	size_t v = *(*pos)++;

	if (v < 0x80)
		return v;
	v &= 0x7f;
	/* This loop is rarely reached: few labels are longer than 127 bytes. */
	for (unsigned shift = 7;; shift += 7) {
		uint8_t byte = *(*pos)++;

		v |= (size_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return v;
	}
}

/* Read one string of an encoding that labels_check() has accepted. */
static struct str checked_str(const uint8_t **pos)
{
	size_t len = checked_len(pos);
	struct str s = { .ptr = (const char *)*pos, .len = len };

	*pos += len;
	return s;
}

bool labels_next(struct labels_iter *it, struct label *out)
{
	if (!it->left)
		return false;
	it->left--;
	out->name = checked_str(&it->pos);
	out->value = checked_str(&it->pos);
	return true;
}

struct str labels_get(const struct labels *ls, struct str name)
{
	struct labels_iter it = labels_iter(ls);
	struct label l;

	while (labels_next(&it, &l)) {
		if (str_eq(l.name, name))
			return l.value;
	}
	return (struct str){ .ptr = "", .len = 0 };
}

int labels_cmp(const struct labels *a, const struct labels *b)
{
	struct labels_iter ia = labels_iter(a);
	struct labels_iter ib = labels_iter(b);
	struct label la;
	struct label lb;

	for (;;) {
		bool more_a = labels_next(&ia, &la);
		bool more_b = labels_next(&ib, &lb);
		int order;

		/*
		 * One set is a prefix of the other: the shorter one sorts
		 * first.
		 */
		if (!more_a || !more_b)
			return more_a - more_b;
		order = str_cmp(la.name, lb.name);
		if (!order)
			order = str_cmp(la.value, lb.value);
		if (order)
			return order;
	}
}

void labels_json(const struct labels *ls, struct json *j)
{
	struct labels_iter it = labels_iter(ls);
	struct label l;

	json_begin(j, '{');
	while (labels_next(&it, &l)) {
		json_key_str(j, l.name);
		json_str(j, l.value);
	}
	json_end(j, '}');
}

/* Return whether a name may stand in a selector without quotes. */
static bool is_identifier(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];
		bool alpha = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			     c == '_';

		if (!alpha && !(i && c >= '0' && c <= '9'))
			return false;
	}
	return s.len;
}

void labels_text(const struct labels *ls, struct buf *out)
{
	struct labels_iter it = labels_iter(ls);
	struct str name = labels_get(ls, str_of(LABEL_NAME));
	/*
	 * A profile type that is an identifier goes before the braces; any
	 * other is written as __name__="…" inside them.
	 */
	bool bare = is_identifier(name);
	const char *comma = "";
	struct label l;

	if (bare)
		buf_add(out, name.ptr, name.len);
	buf_byte(out, '{');
	while (labels_next(&it, &l)) {
		if (bare && str_is(l.name, LABEL_NAME))
			continue;
		buf_str(out, comma);
		if (is_identifier(l.name))
			buf_add(out, l.name.ptr, l.name.len);
		else
			json_quote(out, l.name);
		buf_byte(out, '=');
		json_quote(out, l.value);
		comma = ",";
	}
	buf_byte(out, '}');
}

/* Builders with more labels find them by a table. */
#define SCAN_MAX 32

static uint64_t name_hash(struct str name)
{
	return hash_key(bytes_of(name));
}

/* Comparison function of the table of names. */
static bool is_label_named(const void *ctx, uint32_t number, const void *key)
{
	const struct labels_builder *b = ctx;
	const struct str *name = key;

	return str_eq(b->v[number].name, *name);
}

/*
 * Return the label called `name`, or NULL. Most sets are small, so a scan will
 * do; but an object of Kubernetes can have tens of thousands of annotations.
 */
static struct label *builder_find(const struct labels_builder *b,
				  struct str name)
{
	uint32_t n;

	if (b->by_name.count) {
		n = table_find(&b->by_name, name_hash(name), is_label_named, b,
			       &name);
		return n == TABLE_NONE ? NULL : &b->v[n];
	}
	for (size_t i = 0; i < b->count; i++) {
		if (str_eq(b->v[i].name, name))
			return &b->v[i];
	}
	return NULL;
}

/* Append a label, and to the table as soon as there are many labels. */
static struct label *builder_add(struct labels_builder *b, struct str name)
{
	struct label *at;

	b->v = mem_grow(b->v, b->count, &b->cap, sizeof(*b->v));
	at = &b->v[b->count++];
	at->name = arena_str(&b->arena, name);
	if (!b->by_name.count && b->count <= SCAN_MAX)
		return at;
	for (size_t i = b->by_name.count; i < b->count; i++)
		table_add(&b->by_name, name_hash(b->v[i].name), (uint32_t)i);
	return at;
}

/*
 * Remove a label. The last label takes its place: order does not matter before
 * labels_build() sorts.
 */
static void builder_remove(struct labels_builder *b, struct label *at)
{
	struct label *last = &b->v[b->count - 1];

	if (b->by_name.count) {
		table_remove(&b->by_name, name_hash(at->name),
			     (uint32_t)(at - b->v));
		if (at != last)
			table_move(&b->by_name, name_hash(last->name),
				   (uint32_t)(last - b->v),
				   (uint32_t)(at - b->v));
	}
	*at = *last;
	b->count--;
}

void labels_set(struct labels_builder *b, struct str name, struct str value)
{
	struct label *at = builder_find(b, name);

	if (!value.len) {
		if (at)
			builder_remove(b, at);
		return;
	}
	if (!at)
		at = builder_add(b, name);
	/* A replaced value stays in the arena until labels_builder_fini(). */
	at->value = arena_str(&b->arena, value);
}

void labels_set_all(struct labels_builder *b, const struct labels *labels)
{
	struct labels_iter it = labels_iter(labels);
	struct label l;

	while (labels_next(&it, &l))
		labels_set(b, l.name, l.value);
}

/* An empty result means both "not set" and "set to empty", as in Prometheus. */
struct str labels_builder_get(const struct labels_builder *b, struct str name)
{
	const struct label *at = builder_find(b, name);

	return at ? at->value : (struct str){ .ptr = "", .len = 0 };
}

void labels_builder_fini(struct labels_builder *b)
{
	arena_fini(&b->arena);
	table_fini(&b->by_name);
	mem_free(b->v);
	*b = (struct labels_builder){ 0 };
}

int label_by_name(const void *a, const void *b)
{
	return str_cmp(((const struct label *)a)->name,
		       ((const struct label *)b)->name);
}

/* Check one label of a builder before the label enters a set. */
static int labels_check_label(const struct label *l, struct err *err)
{
	if (!l->name.len)
		return err_set(err, ERR_INVALID,
			       "the label with the value \"%.*s\" has no name",
			       STR_ARG(str_clip(l->value, 100)));
	if (str_is(l->name, LABEL_TENANT))
		return err_set(err, ERR_DENIED, "label %s is reserved",
			       LABEL_TENANT);
	if (l->name.len > LABEL_NAME_MAX)
		return err_set(err, ERR_INVALID,
			       "the label name %.*s… is longer than %d bytes",
			       32, l->name.ptr, LABEL_NAME_MAX);
	if (!str_is_utf8(l->name) || !str_is_utf8(l->value))
		return err_set(err, ERR_INVALID,
			       "the name or value of label %.*s is not UTF-8",
			       (int)(l->name.len < 64 ? l->name.len : 64),
			       l->name.ptr);
	return 0;
}

int labels_build(struct labels_builder *b, struct labels **out, struct err *err)
{
	struct buf enc = buf_init(LABELS_BYTES_MAX);
	int rc = 0;

	if (!b->count)
		return err_set(err, ERR_INVALID, "the label set is empty");
	if (b->count > LABELS_MAX)
		return err_set(err, ERR_INVALID,
			       "the label set has more than %d labels",
			       LABELS_MAX);
	table_fini(&b->by_name); /* sorting changes the indexes */
	qsort(b->v, b->count, sizeof(*b->v), label_by_name);
	enc_uvarint(&enc, b->count);
	for (size_t i = 0; i < b->count && !rc; i++) {
		rc = labels_check_label(&b->v[i], err);
		enc_str(&enc, b->v[i].name);
		enc_str(&enc, b->v[i].value);
	}
	/*
	 * The buffer stops growing at its maximum, so one check at the end is
	 * enough.
	 */
	if (!rc && enc.over)
		rc = err_set(err, ERR_INVALID,
			     "the label set is larger than %d bytes",
			     LABELS_BYTES_MAX);
	if (!rc)
		*out = labels_of(buf_bytes(&enc));
	buf_fini(&enc);
	return rc;
}
