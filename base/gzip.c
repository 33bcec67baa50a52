/* SPDX-License-Identifier: Apache-2.0 */
#include "base/gzip.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/*
 * Longest name or comment in a gzip header that Go's reader accepts, in bytes,
 * including the NUL.
 */
#define HEADER_TEXT_MAX 512
#define TRAILER         8 /* length of a member's CRC-32 and size, in bytes */

#define HEADER_MIN 10 /* length of a header without optional fields */

/* Bits of a gzip header's flags that announce optional fields. */
enum header_flags {
	HAS_CRC = 2,
	HAS_EXTRA = 4,
	HAS_NAME = 8,
	HAS_COMMENT = 16
};

struct gzip {
	struct libdeflate_decompressor *in;
	struct libdeflate_compressor *out;
	int level;
};

enum gzip_kind gzip_sniff(struct bytes b)
{
	if (b.len >= 2 && b.ptr[0] == 0x1f && b.ptr[1] == 0x8b)
		return GZIP_GZIP;
	/*
	 * A zlib stream begins with two bytes, CMF and FLG: CMF says deflate
	 * with a window of at most 32 KiB, and both bytes together are a
	 * multiple of 31.
	 */
	if (b.len >= 2 && (b.ptr[0] & 0x8f) == 0x08 &&
	    (b.ptr[0] << 8 | b.ptr[1]) % 31 == 0)
		return GZIP_ZLIB;
	return GZIP_NONE;
}

struct gzip *gzip_new(void)
{
	return mem_new(struct gzip);
}

void gzip_free(struct gzip *g)
{
	if (!g)
		return;
	if (g->in)
		libdeflate_free_decompressor(g->in);
	if (g->out)
		libdeflate_free_compressor(g->out);
	mem_free(g);
}

/* Read a little-endian integer of at most 4 bytes. */
static uint32_t read_le(const uint8_t *p, unsigned bytes)
{
	uint32_t v = 0;

	for (unsigned i = bytes; i > 0; i--)
		v = v << 8 | p[i - 1];
	return v;
}

/*
 * Guess the decompressed size, so that for most streams the first attempt has
 * enough room. A gzip stream ends with the size of its last member (ISIZE),
 * which is only a hint: the sender may lie.
 */
static size_t size_hint(struct bytes in)
{
	size_t hint;

	if (in.len < 18 || gzip_sniff(in) != GZIP_GZIP)
		return in.len * 4;
	hint = read_le(in.ptr + in.len - 4, 4);
	/* Deflate compresses by 1032:1 at most, so a larger hint is wrong. */
	return hint < in.len * 1032 ? hint : in.len * 4;
}

/*
 * Move *at to the byte after a NUL-terminated text (name or comment) of the
 * header. Returns false when the text is longer than HEADER_TEXT_MAX or has no
 * end.
 */
static bool skip_text(struct bytes in, size_t *at)
{
	size_t left = in.len - *at;
	const uint8_t *end =
		memchr(in.ptr + *at, 0,
		       left < HEADER_TEXT_MAX ? left : HEADER_TEXT_MAX);

	if (end)
		*at = (size_t)(end - in.ptr) + 1;
	return end;
}

/*
 * Return the length of a member's header (RFC 1952), or 0 when the header is
 * incomplete or invalid. The rules are those of Go's reader, so that everprof
 * and programs in Go agree on which profiles are damaged: reserved flags are
 * ignored, the header's CRC is verified, and a name or comment has at most 512
 * bytes (docs/decisions.md, 105).
 */
static size_t header_len(struct bytes in)
{
	size_t at = HEADER_MIN;
	uint8_t flags;

	if (in.len < at || in.ptr[2] != 8)
		return 0;
	flags = in.ptr[3];
	if (flags & HAS_EXTRA) {
		if (in.len - at < 2)
			return 0;
		at += 2 + (size_t)read_le(in.ptr + at, 2);
		if (at > in.len)
			return 0;
	}
	if ((flags & HAS_NAME) && !skip_text(in, &at))
		return 0;
	if ((flags & HAS_COMMENT) && !skip_text(in, &at))
		return 0;
	if (flags & HAS_CRC) {
		if (in.len - at < 2 || (libdeflate_crc32(0, in.ptr, at) &
					0xffff) != read_le(in.ptr + at, 2))
			return 0;
		at += 2;
	}
	return at;
}

/*
 * Decompress one gzip member: parse the header with header_len(), decompress
 * the data with libdeflate, then verify the CRC-32 and the length in the
 * trailer.
 */
static enum libdeflate_result unpack_gzip(struct gzip *g, struct bytes in,
					  struct buf *out, size_t *consumed,
					  size_t *made)
{
	uint8_t *to = out->ptr + out->len;
	size_t head = header_len(in);
	const uint8_t *trailer;
	enum libdeflate_result rc;

	if (!head)
		return LIBDEFLATE_BAD_DATA;
	rc = libdeflate_deflate_decompress_ex(
		g->in, in.ptr + head, in.len - head, to, out->cap - out->len,
		consumed, made);
	if (rc != LIBDEFLATE_SUCCESS)
		return rc;
	*consumed += head;
	if (in.len - *consumed < TRAILER)
		return LIBDEFLATE_BAD_DATA;
	trailer = in.ptr + *consumed;
	*consumed += TRAILER;
	return read_le(trailer, 4) == libdeflate_crc32(0, to, *made) &&
			       read_le(trailer + 4, 4) == (uint32_t)*made ?
		       LIBDEFLATE_SUCCESS :
		       LIBDEFLATE_BAD_DATA;
}

/*
 * Decompress one gzip member or zlib stream and append the contents to `out`.
 * libdeflate cannot continue after the output is full, so the attempt is
 * repeated with twice the room until the contents fit or the maximum of `out`
 * is reached.
 */
static int one_member(struct gzip *g, struct bytes in, struct buf *out,
		      size_t *consumed, struct err *err)
{
	bool zlib = gzip_sniff(in) == GZIP_ZLIB;
	size_t room = size_hint(in) + 1;
	size_t made = 0;

	for (;; room = room * 2) {
		enum libdeflate_result rc;
		size_t left = buf_limit(out) - out->len;
		bool last = room >= left;

		if (!buf_reserve(out, last ? left : room))
			return err_set(
				err, ERR_TOOBIG,
				"the decompressed data is larger than %zu bytes",
				buf_limit(out));
		rc = zlib ? libdeflate_zlib_decompress_ex(
				    g->in, in.ptr, in.len, out->ptr + out->len,
				    out->cap - out->len, consumed, &made) :
			    unpack_gzip(g, in, out, consumed, &made);
		if (rc == LIBDEFLATE_SUCCESS)
			break;
		if (rc != LIBDEFLATE_INSUFFICIENT_SPACE)
			return err_set(err, ERR_CORRUPT,
				       "%s data is damaged or truncated",
				       zlib ? "zlib" : "gzip");
		if (last)
			return err_set(
				err, ERR_TOOBIG,
				"the decompressed data is larger than %zu bytes",
				buf_limit(out));
	}
	out->len += made;
	return 0;
}

/*
 * A gzip stream may have several members, which are decompressed one after
 * another. A zlib stream has only one, and bytes after it are an error.
 */
int gzip_decompress(struct gzip *g, struct bytes in, struct buf *out,
		    struct err *err)
{
	enum gzip_kind kind = gzip_sniff(in);

	if (kind == GZIP_NONE)
		return err_set(err, ERR_CORRUPT,
			       "the data is neither gzip nor zlib");
	if (!g->in)
		g->in = libdeflate_alloc_decompressor();
	if (!g->in)
		abort(); /* out of memory */
	while (in.len) {
		size_t consumed = 0;
		int rc;

		if (gzip_sniff(in) != kind)
			return err_set(
				err, ERR_CORRUPT,
				"%zu unexpected bytes after the compressed data",
				in.len);
		rc = one_member(g, in, out, &consumed, err);
		if (rc)
			return rc;
		in.ptr += consumed;
		in.len -= consumed;
		if (kind == GZIP_ZLIB && in.len)
			return err_set(
				err, ERR_CORRUPT,
				"%zu unexpected bytes after the compressed data",
				in.len);
	}
	return 0;
}

int gzip_decompress_once(struct bytes in, struct buf *out, struct err *err)
{
	struct gzip *g = gzip_new();
	int rc = gzip_decompress(g, in, out, err);

	gzip_free(g);
	return rc;
}

/* The compressor is kept for the next call, unless the level changes. */
void gzip_compress(struct gzip *g, int level, struct bytes in, struct buf *out)
{
	size_t room;
	size_t made; /* 0: there is not enough room */

	if (g->out && g->level != level) {
		libdeflate_free_compressor(g->out);
		g->out = NULL;
	}
	if (!g->out)
		g->out = libdeflate_alloc_compressor(level);
	if (!g->out)
		abort(); /* out of memory, or a level that does not exist */
	g->level = level;
	room = libdeflate_gzip_compress_bound(g->out, in.len);
	if (room > buf_limit(out) - out->len)
		room = buf_limit(out) - out->len;
	if (!buf_reserve(out, room))
		return;
	made = libdeflate_gzip_compress(g->out, in.ptr, in.len,
					out->ptr + out->len,
					out->cap - out->len);
	out->over = !made;
	out->len += made;
}

void gzip_compress_noted(struct gzip *g, int level, struct bytes in,
			 struct bytes note, struct buf *out)
{
	size_t size = 4 + note.len; /* of the extra field's contents */
	const uint8_t head[6] = {
		size & 0xff, (size >> 8) & 0xff, 'e',
		'v',         note.len & 0xff,    (note.len >> 8) & 0xff
	};
	size_t begin = out->len;
	uint8_t *at;

	gzip_compress(g, level, in, out);
	if (out->over || !note.len || note.len > GZIP_NOTE_MAX)
		return;
	/* Make room behind the flags, which say that there is a field. */
	buf_add(out, head, sizeof(head));
	buf_add(out, note.ptr, note.len);
	if (out->over) {
		out->len = begin;
		return;
	}
	at = out->ptr + begin + HEADER_MIN;
	memmove(at + 2 + size, at, out->len - begin - HEADER_MIN - 2 - size);
	memcpy(at, head, sizeof(head));
	memcpy(at + sizeof(head), note.ptr, note.len);
	out->ptr[begin + 3] |= HAS_EXTRA;
}

struct bytes gzip_note(struct bytes member)
{
	size_t at = HEADER_MIN + 2;
	size_t end;

	if (gzip_sniff(member) != GZIP_GZIP || member.len < at ||
	    !(member.ptr[3] & HAS_EXTRA))
		return (struct bytes){ NULL, 0 };
	end = at + read_le(member.ptr + HEADER_MIN, 2);
	while (end <= member.len && end - at >= 4) {
		size_t size = read_le(member.ptr + at + 2, 2);

		if (size > end - at - 4)
			break;
		if (!memcmp(member.ptr + at, "ev", 2))
			return (struct bytes){ member.ptr + at + 4, size };
		at += 4 + size;
	}
	return (struct bytes){ NULL, 0 };
}

uint32_t gzip_crc32(uint32_t crc, struct bytes b)
{
	return libdeflate_crc32(crc, b.ptr, b.len);
}
