/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/wal/body.h"

#include "base/hash.h"

void body_decoder_fini(struct body_decoder *d)
{
	gzip_free(d->gzip);
	zstd_free(d->zstd);
	*d = (struct body_decoder){ 0 };
}

/*
 * Decompress a gzip body. The buffer's limit is lowered to the length that the
 * record states, so that a damaged body cannot expand without bound.
 */
static int body_inflate(struct body_decoder *d, const struct segment_profile *p,
			struct buf *out, struct err *err)
{
	size_t max = out->max;
	int rc;

	if (!d->gzip)
		d->gzip = gzip_new();
	/* Libdeflate needs one byte of room to detect the end of the data. */
	out->max = (size_t)p->entry.raw_len + 1;
	rc = gzip_decompress(d->gzip, p->body, out, err);
	out->max = max;
	/*
	 * A body that expands beyond the length in the record differs from the
	 * received body, so it is damaged.
	 */
	return rc == ERR_TOOBIG ?
		       err_wrap(err, ERR_CORRUPT, "the stored profile") :
		       rc;
}

int body_decode(struct body_decoder *d, const struct segment_profile *p,
		struct buf *out, struct err *err)
{
	int rc = 0;

	buf_reset(out);
	switch (p->encoding) {
	case BODY_PLAIN:
		buf_add(out, p->body.ptr, p->body.len);
		break;
	case BODY_DEFLATE:
		rc = body_inflate(d, p, out, err);
		break;
	case BODY_ZSTD:
		if (!d->zstd)
			d->zstd = zstd_new();
		rc = zstd_decompress(d->zstd, p->body, p->entry.raw_len, out,
				     err);
		break;
	default:
		rc = err_set(err, ERR_CORRUPT,
			     "unknown encoding %d of a profile",
			     (int)p->encoding);
	}
	if (rc)
		return rc;
	/*
	 * The hash was computed from the received profile, so it also detects
	 * damage from before the record's checksum was computed.
	 */
	if (out->len != p->entry.raw_len ||
	    hash_bytes(buf_bytes(out)) != p->entry.hash)
		return err_set(
			err, ERR_CORRUPT,
			"the profile differs from the received one (hash mismatch)");
	return 0;
}
