/* SPDX-License-Identifier: Apache-2.0 */
#include "base/compressed_body.h"

#include <string.h>
#include <strings.h>

#include "base/gzip.h"
#include "base/units.h"

int compressed_body_kind(const char *content_encoding, enum compression *out,
			 struct err *err)
{
	static const struct {
		const char *name;
		enum compression value;
	} names[] = {
		{ "", COMPRESSION_NONE },
		{ "identity", COMPRESSION_NONE },
		{ "gzip", COMPRESSION_GZIP },
		{ "zstd", COMPRESSION_ZSTD },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcasecmp(content_encoding, names[i].name)) {
			*out = names[i].value;
			return 0;
		}
	}
	return err_set(
		err, ERR_MEDIA,
		"unsupported Content-Encoding \"%.100s\": use gzip, zstd or identity",
		content_encoding);
}

enum compression compressed_body_sniff(struct bytes body)
{
	/* The magic number of a frame: RFC 8878, 3.1.1. */
	static const uint8_t zstd[] = { 0x28, 0xb5, 0x2f, 0xfd };

	if (gzip_sniff(body) == GZIP_GZIP)
		return COMPRESSION_GZIP;
	return body.len >= sizeof(zstd) &&
			       !memcmp(body.ptr, zstd, sizeof(zstd)) ?
		       COMPRESSION_ZSTD :
		       COMPRESSION_NONE;
}

/*
 * Return the size that a gzip stream claims to have decompressed, or 0 if it is
 * too short (RFC 1952, 2.3.1).
 */
static size_t compressed_body_gzip_size(struct bytes b)
{
	const uint8_t *p = b.len >= 18 ? b.ptr + b.len - 4 : NULL;

	return p ? (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 |
			       (size_t)p[3] << 24 :
		   0;
}

int compressed_body_size(enum compression c, struct bytes body, size_t max,
			 size_t *size, struct err *err)
{
	*size = 0;
	if (c == COMPRESSION_GZIP)
		*size = compressed_body_gzip_size(body);
	else if (c == COMPRESSION_ZSTD && zstd_declared_size(body, size, NULL))
		*size = body.len < max / COMPRESSED_BODY_RATIO ?
				body.len * COMPRESSED_BODY_RATIO :
				max;
	if (*size <= max)
		return 0;
	return err_set(
		err, ERR_TOOBIG,
		"the request says that it has %zu bytes decompressed, more than --scrape.max-profile-size plus 2 MiB; if it is a truncated gzip stream, this number is meaningless",
		*size);
}

size_t compressed_body_memory(enum compression c, struct bytes body,
			      size_t size)
{
	return size + (c == COMPRESSION_ZSTD ? zstd_window(body) : 0);
}

/* Decompress a gzip stream of one member. */
static int compressed_body_gunzip(struct bytes body, struct buf *out,
				  struct err *err)
{
	int rc = gzip_decompress_once(body, out, err);

	if (rc == ERR_TOOBIG)
		return err_set(
			err, ERR_INVALID,
			"the gzip stream of the request decompresses to more bytes than its trailer says: send it as one member");
	return rc ? err_wrap(err, ERR_INVALID,
			     "the body of the request is no gzip stream") :
		    0;
}

/* Decompress frames of zstd. */
static int compressed_body_unzstd(struct zstd *z, struct bytes body,
				  struct buf *out, struct err *err)
{
	int rc = zstd_decompress_all(z, body, out, err);

	if (rc == ERR_TOOBIG)
		return err_set(
			err, rc,
			"the request is compressed with zstd, does not say its decompressed size, and decompresses to more than %d times its size, or to more than --scrape.max-profile-size plus 2 MiB: send it as one frame with its decompressed size, or uncompressed",
			COMPRESSED_BODY_RATIO);
	return rc ? err_wrap(err, ERR_INVALID,
			     "the body of the request is no zstd stream") :
		    0;
}

int compressed_body_decode(enum compression c, struct zstd *z,
			   struct bytes body, struct buf *out,
			   struct bytes *message, struct err *err)
{
	int rc;

	*message = body;
	if (c == COMPRESSION_NONE)
		return 0;
	rc = c == COMPRESSION_GZIP ? compressed_body_gunzip(body, out, err) :
				     compressed_body_unzstd(z, body, out, err);
	*message = buf_bytes(out);
	return rc;
}
