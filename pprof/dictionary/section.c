/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/dictionary/section.h"

#include "base/enc.h"

#define WORTH 16 /* minimum length of a section to compress, in bytes */

/*
 * The zstd frame is stored only if the frame and one byte for its length are
 * together shorter than the bytes.
 */
void section_put(struct zstd *z, int level, struct bytes raw, struct buf *out)
{
	struct buf frame = { 0 };

	if (raw.len >= WORTH)
		zstd_compress(z, level, &raw, 1, &frame);
	if (frame.len && frame.len + 1 < raw.len) {
		enc_uvarint(out, (uint64_t)raw.len << 1 | 1);
		enc_uvarint(out, frame.len);
		buf_add(out, frame.ptr, frame.len);
	} else {
		enc_uvarint(out, (uint64_t)raw.len << 1);
		buf_add(out, raw.ptr, raw.len);
	}
	buf_fini(&frame);
}

/*
 * Read the lengths of a section and return its stored bytes. Stores the
 * decompressed length in `*len`.
 */
static struct bytes section_read_next(struct dec *d, size_t *len,
				      bool *compressed)
{
	uint64_t head = dec_uvarint(d);

	*compressed = head & 1;
	*len = (size_t)(head >> 1);
	return dec_bytes(d, *compressed ? (size_t)dec_uvarint(d) : *len);
}

int section_get(struct zstd *z, struct dec *d, struct buf *out, struct err *err)
{
	bool compressed;
	size_t len;
	struct bytes stored = section_read_next(d, &len, &compressed);

	buf_reset(out);
	if (d->bad)
		return err_set(err, ERR_CORRUPT, "the data is truncated");
	if (compressed)
		return zstd_decompress(z, stored, len, out, err);
	buf_add(out, stored.ptr, stored.len);
	return out->over ?
		       err_set(err, ERR_TOOBIG,
			       "the data has more than the %zu bytes allowed here",
			       buf_limit(out)) :
		       0;
}

void section_skip(struct dec *d)
{
	bool compressed;
	size_t len;

	section_read_next(d, &len, &compressed);
}
