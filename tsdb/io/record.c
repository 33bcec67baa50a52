/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/io/record.h"

#include <sys/random.h>

#include "base/crc32c.h"
#include "base/dec.h"
#include "base/enc.h"

#define VERSION 1

/* Length in bytes of each of the two copies of a file's header. */
#define HEADER_COPY 32

int record_make_salt(uint64_t *salt, struct err *err)
{
	if (getrandom(salt, sizeof(*salt), 0) == sizeof(*salt))
		return 0;
	return err_sys(err, "cannot get random bytes (getrandom)");
}

/*
 * The header is written twice, because without its salt no record of the file
 * can be verified (docs/decisions.md, 5).
 */
void file_header_encode(const struct file_header *h, struct buf *out)
{
	for (int copy = 0; copy < FILE_HEADER / HEADER_COPY; copy++) {
		size_t start = out->len;
		struct bytes covered;

		enc_be32(out, h->magic);
		buf_byte(out, VERSION);
		buf_add(out, "\0\0", 3);
		enc_be64(out, h->salt);
		enc_be64(out, h->number);
		enc_be32(out, h->extra);
		covered = (struct bytes){ .ptr = out->ptr + start, .len = 28 };
		enc_be32(out, crc32c_extend(0, covered));
	}
}

/*
 * Decode one copy of the header. The checksum is compared before the version,
 * so that damage is never reported as another version (docs/decisions.md, 102).
 */
static int copy_decode(struct bytes copy, uint32_t magic,
		       struct file_header *out, struct err *err)
{
	struct dec d = dec_init(copy);
	struct file_header h = { .magic = dec_be32(&d) };
	uint8_t version = dec_u8(&d);
	struct bytes reserved = dec_bytes(&d, 3);
	struct bytes covered = { .ptr = copy.ptr, .len = 28 };

	h.salt = dec_be64(&d);
	h.number = dec_be64(&d);
	h.extra = dec_be32(&d);
	if (dec_be32(&d) != crc32c_extend(0, covered))
		return err_set(
			err, ERR_CORRUPT,
			"the file header is damaged (checksum mismatch)");
	if (h.magic != magic)
		return err_set(
			err, ERR_CORRUPT,
			"the file is an everprof file of another kind (wrong magic number)");
	if (version == VERSION &&
	    (reserved.ptr[0] || reserved.ptr[1] || reserved.ptr[2]))
		return err_set(
			err, ERR_UNSUPPORTED,
			"the file needs a feature that this version of everprof does not know; use the newer version that wrote the file");
	if (version != VERSION)
		return err_set(
			err, ERR_UNSUPPORTED,
			"file format %u is not supported: this version of everprof reads format %d; use the newer version that wrote the file",
			version, VERSION);
	*out = h;
	return 0;
}

int file_header_decode(struct bytes file, uint32_t magic,
		       struct file_header *out, struct err *err)
{
	struct bytes copy = { .ptr = file.ptr, .len = HEADER_COPY };
	int rc;

	if (file.len < FILE_HEADER)
		return err_set(err, ERR_CORRUPT,
			       "the file header is truncated");
	rc = copy_decode(copy, magic, out, err);
	if (rc != ERR_CORRUPT)
		return rc;
	/* The first copy is damaged: use the second. */
	copy.ptr += HEADER_COPY;
	return copy_decode(copy, magic, out, err);
}

uint64_t record_padded(size_t head_len, size_t body_len)
{
	return (RECORD_HEADER + (uint64_t)head_len + body_len + 7) &
	       ~(uint64_t)7;
}

/*
 * Checksum of a record's header and head. The salt makes a record of an older
 * file in the same disk blocks fail the check.
 */
static uint32_t head_crc(uint64_t salt, struct bytes fixed, struct bytes head)
{
	uint8_t seed[8];
	uint32_t crc;

	enc_put_be64(seed, salt);
	crc = crc32c_extend(0,
			    (struct bytes){ .ptr = seed, .len = sizeof(seed) });
	return crc32c_extend(crc32c_extend(crc, fixed), head);
}

void record_encode(const struct record *r, uint64_t salt, struct buf *out)
{
	size_t start = out->len;
	struct bytes fixed;

	enc_be32(out, (uint32_t)r->head.len);
	enc_be32(out, (uint32_t)r->body.len);
	enc_be64(out, r->position);
	buf_byte(out, r->kind);
	buf_byte(out, r->encoding);
	enc_be16(out, 0);
	enc_be32(out, r->body.len ? crc32c_extend(0, r->body) : 0);
	enc_be32(out, 0);
	fixed = (struct bytes){ .ptr = out->ptr + start, .len = 28 };
	enc_be32(out, head_crc(salt, fixed, r->head));
	buf_add(out, r->head.ptr, r->head.len);
	buf_add(out, r->body.ptr, r->body.len);
	enc_pad(out, 8);
}

/* Length and checksum of the body, according to the record's header. */
struct body_info {
	uint32_t len;
	uint32_t crc;
};

/*
 * Decode and verify header and head, and leave the decoder *d at the start of
 * the body. The position is compared before the checksum, because it costs
 * less, and rejects most offsets at which no record begins.
 */
static int decode_front(struct dec *d, uint64_t salt, uint64_t position,
			struct record *out, struct body_info *body,
			struct err *err)
{
	struct bytes fixed = { .ptr = d->pos, .len = 28 };
	uint32_t head_len = dec_be32(d);
	struct record r = { 0 };
	uint32_t reserved;
	uint32_t crc;

	body->len = dec_be32(d);
	r.position = dec_be64(d);
	r.kind = dec_u8(d);
	r.encoding = dec_u8(d);
	reserved = dec_be16(d);
	body->crc = dec_be32(d);
	reserved |= dec_be32(d);
	crc = dec_be32(d);
	if (d->bad)
		return err_set(err, ERR_CORRUPT, "the record is truncated");
	if (r.position != position || reserved || head_len > RECORD_HEAD_MAX ||
	    body->len > RECORD_BODY_MAX)
		return err_set(err, ERR_CORRUPT,
			       "the header of the record is damaged");
	r.head = dec_bytes(d, head_len);
	if (d->bad)
		return err_set(err, ERR_CORRUPT, "the record is truncated");
	if (crc != head_crc(salt, fixed, r.head))
		return err_set(err, ERR_CORRUPT, "checksum mismatch");
	r.len = record_padded(head_len, body->len);
	*out = r;
	return 0;
}

int record_decode(struct bytes b, uint64_t salt, uint64_t position,
		  bool check_body, struct record *out, struct err *err)
{
	struct dec d = dec_init(b);
	struct body_info body = { 0 };
	struct record r = { 0 };
	int rc = decode_front(&d, salt, position, &r, &body, err);

	if (rc)
		return rc;
	r.body = dec_bytes(&d, body.len);
	if (d.bad)
		return err_set(err, ERR_CORRUPT, "the record is truncated");
	if (check_body)
		r.body_ok = body.crc ==
			    (body.len ? crc32c_extend(0, r.body) : 0);
	*out = r;
	return 0;
}

int record_decode_head(struct bytes b, uint64_t salt, uint64_t position,
		       struct record *out, struct err *err)
{
	struct dec d = dec_init(b);
	struct body_info body;

	return decode_front(&d, salt, position, out, &body, err);
}

size_t record_head_len(const uint8_t *header)
{
	struct dec d = dec_init((struct bytes){ .ptr = header, .len = 4 });

	return dec_be32(&d);
}

/*
 * Whether all bytes are zero, as in padding and in allocated but unwritten
 * parts of a file.
 */
static bool record_all_zero(struct bytes b)
{
	for (size_t i = 0; i < b.len; i++) {
		if (b.ptr[i])
			return false;
	}
	return true;
}

/* The bytes of `b` with offsets in [from, to). */
static struct bytes record_read_slice(struct bytes b, uint64_t from,
				      uint64_t to)
{
	return (struct bytes){ .ptr = b.ptr + from,
			       .len = (size_t)(to - from) };
}

/*
 * Report the bytes in [from, to), which are not a record, unless the range is
 * empty or all its bytes are zero.
 */
static void record_report(const struct record_iter *it, uint64_t from,
			  uint64_t to, bool torn)
{
	if (it->damaged && to > from &&
	    !record_all_zero(record_read_slice(it->file, from, to)))
		it->damaged(it->ctx, from, to - from, torn);
}

/*
 * Record begin at multiples of 8, so the search after damage takes steps of 8.
 * Other bytes are taken for a record only if they happen to contain the correct
 * position and the correct checksum.
 */
int record_next(struct record_iter *it, struct record *out)
{
	uint64_t size = it->file.len;
	uint64_t from = it->offset;

	for (; it->offset < size; it->offset += 8) {
		if (record_decode(record_read_slice(it->file, it->offset, size),
				  it->salt, it->base + it->offset, true, out,
				  NULL))
			continue;
		record_report(it, from, it->offset, false);
		it->offset += out->len;
		it->end = it->offset;
		return 1;
	}
	if (from < size)
		record_report(it, from, size, true);
	return 0;
}
