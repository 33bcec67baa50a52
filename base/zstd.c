/* SPDX-License-Identifier: Apache-2.0 */
#include "base/zstd.h"

#include <stdlib.h>
#include <zstd.h>

#include "base/mem.h"
#include "base/units.h"

/*
 * A decompressor is kept if it has at most this many bytes: enough for windows
 * of 8 MiB, which every decoder should support (RFC 8878, 3.1.1.1.2).
 */
#define DECOMPRESSOR_KEEP ((size_t)(10 * MIB))

/*
 * zstd's contexts for compression (`out`) and decompression (`in`), NULL until
 * first used.
 */
struct zstd {
	ZSTD_CCtx *out;
	ZSTD_DCtx *in;
};

struct zstd *zstd_new(void)
{
	return mem_new(struct zstd);
}

void zstd_free(struct zstd *z)
{
	if (!z)
		return;
	ZSTD_freeCCtx(z->out);
	ZSTD_freeDCtx(z->in);
	mem_free(z);
}

/* Return the sum of the lengths of all parts. */
static size_t zstd_sum_total(const struct bytes *parts, size_t count)
{
	size_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += parts[i].len;
	return sum;
}

/* Return the compressor, reset for a frame whose contents have `sum` bytes. */
static ZSTD_CCtx *zstd_get_compressor(struct zstd *z, int level, size_t sum)
{
	if (!z->out)
		z->out = ZSTD_createCCtx();
	if (!z->out)
		abort(); /* out of memory */
	/*
	 * Settings of an earlier frame, such as its prefix or window, must not
	 * remain.
	 */
	ZSTD_CCtx_reset(z->out, ZSTD_reset_session_and_parameters);
	ZSTD_CCtx_setParameter(z->out, ZSTD_c_compressionLevel, level);
	ZSTD_CCtx_setPledgedSrcSize(z->out, sum);
	return z->out;
}

/*
 * The parts are passed one by one, so that they need not be copied into one
 * buffer.
 */
void zstd_compress(struct zstd *z, int level, const struct bytes *parts,
		   size_t count, struct buf *out)
{
	size_t sum = zstd_sum_total(parts, count);
	ZSTD_CCtx *c = zstd_get_compressor(z, level, sum);
	ZSTD_outBuffer o;

	if (!buf_reserve(out, ZSTD_compressBound(sum)))
		return;
	o = (ZSTD_outBuffer){ .dst = out->ptr + out->len,
			      .size = out->cap - out->len };
	for (size_t i = 0; i < count; i++) {
		ZSTD_inBuffer in = { .src = parts[i].ptr,
				     .size = parts[i].len };

		while (in.pos < in.size) {
			if (ZSTD_isError(ZSTD_compressStream2(c, &o, &in,
							      ZSTD_e_continue)))
				abort(); /* a bug: the bound must suffice */
		}
	}
	if (ZSTD_compressStream2(c, &o, &(ZSTD_inBuffer){ 0 }, ZSTD_e_end) != 0)
		abort();
	out->len += o.pos;
}

/*
 * Return the binary logarithm of the size of a window that covers `size` bytes;
 * `size` counts the prefix as well. The result is at most 27, the largest
 * window that decoders accept by default.
 */
static int window_log(size_t size)
{
	int log = 10;

	while (log < 27 && (size_t)1 << log < size)
		log++;
	return log;
}

void zstd_compress_after(struct zstd *z, int level, struct bytes prefix,
			 struct bytes part, struct buf *out)
{
	ZSTD_CCtx *c = zstd_get_compressor(z, level, part.len);
	size_t n;

	if (!buf_reserve(out, ZSTD_compressBound(part.len)))
		return;
	ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog,
			       window_log(prefix.len + part.len));
	ZSTD_CCtx_refPrefix(c, prefix.ptr, prefix.len);
	n = ZSTD_compress2(c, out->ptr + out->len, out->cap - out->len,
			   part.ptr, part.len);
	if (ZSTD_isError(n))
		abort(); /* a bug: the bound must suffice */
	out->len += n;
}

/* Return the decompressor, reset for a new frame. */
static ZSTD_DCtx *zstd_get_decompressor(struct zstd *z)
{
	if (!z->in)
		z->in = ZSTD_createDCtx();
	if (!z->in)
		abort(); /* out of memory */
	ZSTD_DCtx_reset(z->in, ZSTD_reset_session_only);
	return z->in;
}

/*
 * Free a decompressor with an unusually large window: a frame of a few bytes
 * from outside may demand 128 MiB, which would be kept for the next frame.
 */
static void zstd_shrink(struct zstd *z)
{
	if (!z->in || ZSTD_sizeof_DCtx(z->in) <= DECOMPRESSOR_KEEP)
		return;
	ZSTD_freeDCtx(z->in);
	z->in = NULL;
}

int zstd_decompress(struct zstd *z, struct bytes in, size_t want,
		    struct buf *out, struct err *err)
{
	return zstd_decompress_after(z, (struct bytes){ 0 }, in, want, out,
				     err);
}

/* Implement zstd_decompress_after(); the decompressor keeps its window. */
static int zstd_decompress_part(struct zstd *z, struct bytes prefix,
				struct bytes in, size_t want, struct buf *out,
				struct err *err)
{
	ZSTD_DCtx *d = zstd_get_decompressor(z);
	ZSTD_inBuffer i = { .src = in.ptr, .size = in.len };
	ZSTD_outBuffer o;

	if (!want)
		return 0;
	if (!buf_reserve(out, want))
		return err_set(
			err, ERR_TOOBIG,
			"the zstd frame decompresses to %zu bytes; at most %zu are allowed here",
			want, buf_limit(out));
	o = (ZSTD_outBuffer){ .dst = out->ptr + out->len, .size = want };
	if (prefix.len)
		ZSTD_DCtx_refPrefix(d, prefix.ptr, prefix.len);
	/*
	 * Stop when `want` bytes have been decompressed. It is an error if a
	 * call neither reads nor writes a byte, because the input was cut
	 * short, or if the frame ends earlier (rc is 0).
	 */
	while (o.pos < o.size) {
		size_t before = i.pos + o.pos;
		size_t rc = ZSTD_decompressStream(d, &o, &i);

		if (ZSTD_isError(rc) || (i.pos + o.pos == before) ||
		    (!rc && o.pos < o.size))
			return err_set(err, ERR_CORRUPT,
				       "zstd frame is damaged or truncated");
	}
	out->len += want;
	return 0;
}

int zstd_decompress_after(struct zstd *z, struct bytes prefix, struct bytes in,
			  size_t want, struct buf *out, struct err *err)
{
	int rc = zstd_decompress_part(z, prefix, in, want, out, err);

	zstd_shrink(z);
	return rc;
}

/*
 * Implement zstd_decompress_all(); the decompressor keeps its window.
 *
 * The loop goes on while rc is not 0, and rc is 0 only at the end of a frame.
 * Input that ends inside a frame is thus recognised as cut short.
 */
static int zstd_decompress_whole(struct zstd *z, struct bytes in,
				 struct buf *out, struct err *err)
{
	ZSTD_inBuffer i = { .src = in.ptr, .size = in.len };
	ZSTD_DCtx *d = zstd_get_decompressor(z);
	size_t rc = 1;

	while (rc || i.pos < i.size) {
		ZSTD_outBuffer o;
		size_t before = i.pos;
		size_t room = ZSTD_DStreamOutSize();

		/*
		 * If the buffer is full, it may hold the whole result already:
		 * ERR_TOOBIG is returned only if more output follows.
		 */
		if (out->max && out->max - out->len < room)
			room = out->max - out->len;
		if (room && !buf_reserve(out, room))
			return err_set(
				err, ERR_TOOBIG,
				"the decompressed zstd data is larger than %zu bytes",
				buf_limit(out));
		o = (ZSTD_outBuffer){ .dst = out->ptr + out->len,
				      .size = out->cap - out->len };
		rc = ZSTD_decompressStream(d, &o, &i);
		out->len += o.pos;
		if (!room && rc && !ZSTD_isError(rc) && i.pos == before)
			return err_set(
				err, ERR_TOOBIG,
				"the decompressed zstd data is larger than %zu bytes",
				buf_limit(out));
		if (ZSTD_isError(rc) || (rc && i.pos == before && !o.pos))
			return err_set(err, ERR_CORRUPT,
				       "zstd frame is damaged or truncated");
	}
	return 0;
}

int zstd_decompress_all(struct zstd *z, struct bytes in, struct buf *out,
			struct err *err)
{
	int rc = zstd_decompress_whole(z, in, out, err);

	zstd_shrink(z);
	return rc;
}

int zstd_declared_size(struct bytes in, size_t *size, struct err *err)
{
	unsigned long long n = ZSTD_getFrameContentSize(in.ptr, in.len);

	if (n == ZSTD_CONTENTSIZE_ERROR || !zstd_is_one_frame(in))
		return err_set(err, ERR_CORRUPT,
			       "the data is not exactly one zstd frame");
	if (n == ZSTD_CONTENTSIZE_UNKNOWN)
		return err_set(
			err, ERR_CORRUPT,
			"the zstd frame does not declare the size of its content");
	*size = n > SIZE_MAX ? SIZE_MAX : (size_t)n;
	return 0;
}

/*
 * Return the window of one frame, by its header (RFC 8878, 3.1.1.1). A frame of a
 * single segment has no window.
 */
static size_t zstd_frame_window(struct bytes frame)
{
	unsigned exponent;
	size_t base;

	if (!zstd_sniff(frame) || frame.len < 6 || frame.ptr[4] & 0x20)
		return 0;
	exponent = frame.ptr[5] >> 3;
	base = (size_t)1 << (10 + exponent);
	return base + base / 8 * (frame.ptr[5] & 7);
}

size_t zstd_window(struct bytes in)
{
	size_t most = 0;

	while (in.len) {
		size_t size = ZSTD_findFrameCompressedSize(in.ptr, in.len);
		size_t window = zstd_frame_window(in);

		most = window > most ? window : most;
		if (ZSTD_isError(size) || !size || size > in.len)
			break;
		in.ptr += size;
		in.len -= size;
	}
	return most;
}

bool zstd_sniff(struct bytes in)
{
	static const uint8_t magic[] = { 0x28, 0xb5, 0x2f, 0xfd };

	return in.len >= sizeof(magic) && !memcmp(in.ptr, magic, sizeof(magic));
}

bool zstd_is_one_frame(struct bytes in)
{
	return ZSTD_findFrameCompressedSize(in.ptr, in.len) == in.len;
}
