/* SPDX-License-Identifier: Apache-2.0 */
#include "remotewrite/wire/write_builder.h"

#include "base/enc.h"
#include "base/gzip.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/wire.h"
#include "base/zstd.h"

/*
 * The keys of the fields 1 and 2. A key consists of the number of the field and
 * its wire type.
 */
#define KEY_1_BYTES  (1 << 3 | WIRE_BYTES)
#define KEY_2_BYTES  (2 << 3 | WIRE_BYTES)
#define KEY_2_VARINT (2 << 3 | WIRE_VARINT)

struct write_builder {
	struct gzip *gzip;
	struct zstd *zstd;
};

struct write_builder *write_builder_new(void)
{
	struct write_builder *b = mem_new(struct write_builder);

	b->gzip = gzip_new();
	b->zstd = zstd_new();
	return b;
}

void write_builder_free(struct write_builder *b)
{
	if (!b)
		return;
	gzip_free(b->gzip);
	zstd_free(b->zstd);
	mem_free(b);
}

/*
 * Return the size of a field that contains `len` bytes: its key, its length and
 * these bytes.
 */
static size_t builder_field_size(size_t len)
{
	return 1 + wire_varint_len(len) + len;
}

/*
 * Append the key of a field and the varint `len` after it: the length of the
 * bytes that follow, or the value of a field of type WIRE_VARINT.
 */
static void builder_put_key(struct buf *out, uint8_t key, size_t len)
{
	buf_byte(out, key);
	enc_uvarint(out, len);
}

/* Append a text as a field. */
static void builder_put_text(struct buf *out, uint8_t key, struct str s)
{
	builder_put_key(out, key, s.len);
	buf_add(out, s.ptr, s.len);
}

void write_labels_encode(const struct labels *labels, struct buf *out)
{
	struct labels_iter it = labels_iter(labels);
	struct label l;

	while (labels_next(&it, &l)) {
		builder_put_key(out, KEY_1_BYTES,
				builder_field_size(l.name.len) +
					builder_field_size(l.value.len));
		builder_put_text(out, KEY_1_BYTES, l.name);
		builder_put_text(out, KEY_2_BYTES, l.value);
	}
}

/* Return the size in bytes of a message Sample. */
static size_t builder_sample_size(uint32_t raw_len, int64_t ms)
{
	return builder_field_size(raw_len) + 1 + wire_varint_len((uint64_t)ms);
}

size_t write_sample_size(size_t labels_len, uint32_t raw_len, int64_t ms)
{
	return builder_field_size(
		labels_len +
		builder_field_size(builder_sample_size(raw_len, ms)));
}

/* Append the decompressed profile to the message. */
static int builder_put_profile(struct write_builder *b,
			       const struct logged_sample *s,
			       struct buf *message, struct err *err)
{
	switch (s->encoding) {
	case BODY_PLAIN:
		buf_add(message, s->body.ptr, s->body.len);
		return message->over ? ERR_TOOBIG : 0;
	case BODY_DEFLATE:
		return gzip_decompress(b->gzip, s->body, message, err);
	case BODY_ZSTD:
		return zstd_decompress(b->zstd, s->body, s->raw_len, message,
				       err);
	default:
		return err_set(err, ERR_CORRUPT,
			       "unknown encoding %d of a profile",
			       (int)s->encoding);
	}
}

/*
 * Append the decompressed profile to the message, and check its length and hash
 * against those of the received profile.
 */
static int builder_put_checked(struct write_builder *b,
			       const struct logged_sample *s,
			       struct buf *message, struct err *err)
{
	size_t at = message->len;
	int rc = builder_put_profile(b, s, message, err);
	struct bytes got = { .ptr = message->ptr + at,
			     .len = message->len - at };

	if (!rc && (got.len != s->raw_len || hash_bytes(got) != s->hash))
		rc = err_set(
			err, ERR_CORRUPT,
			"the profile has changed since everprof received it (hash mismatch)");
	return rc;
}

/*
 * Reserve room for a sample in the message, and append everything of the sample
 * that comes before its profile.
 */
static int builder_begin_sample(struct bytes labels,
				const struct logged_sample *s,
				struct buf *message, struct err *err)
{
	size_t size = builder_sample_size(s->raw_len, s->ms);

	/*
	 * Make room for the whole sample and 8 more bytes, so that the buffer
	 * need not grow again: gzip_decompress() reserves one byte more than
	 * the profile has.
	 */
	if (!buf_reserve(message,
			 write_sample_size(labels.len, s->raw_len, s->ms) +
				 8)) {
		message->over = false;
		return err_set(
			err, ERR_TOOBIG,
			"the profile has %u bytes; the request has no room for it",
			s->raw_len);
	}
	builder_put_key(message, KEY_1_BYTES,
			labels.len + builder_field_size(size));
	buf_add(message, labels.ptr, labels.len);
	builder_put_key(message, KEY_2_BYTES, size);
	builder_put_key(message, KEY_1_BYTES, s->raw_len);
	return 0;
}

int write_builder_add(struct write_builder *b, struct bytes labels,
		      const struct logged_sample *s, struct buf *message,
		      struct err *err)
{
	size_t before = message->len;
	int rc = builder_begin_sample(labels, s, message, err);

	if (rc)
		return rc;
	rc = builder_put_checked(b, s, message, err);
	if (rc) {
		message->len = before;
		message->over = false;
		return rc == ERR_TOOBIG ? ERR_CORRUPT : rc;
	}
	builder_put_key(message, KEY_2_VARINT, (size_t)s->ms);
	return 0;
}
