/* SPDX-License-Identifier: Apache-2.0 */
#include "push/wire/push_body.h"

#include <strings.h>

#include "base/gzip.h"
#include "base/units.h"

int push_body_compression(const char *content_encoding,
			  enum push_compression *out, struct err *err)
{
	static const struct {
		const char *name;
		enum push_compression value;
	} names[] = {
		{ "", PUSH_IDENTITY },
		{ "identity", PUSH_IDENTITY },
		{ "gzip", PUSH_GZIP },
		{ "zstd", PUSH_ZSTD },
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

/*
 * Return the size that a gzip stream claims to have decompressed, or 0 if it is
 * too short (RFC 1952, 2.3.1).
 */
static size_t push_body_gzip_size(struct bytes b)
{
	const uint8_t *p = b.len >= 18 ? b.ptr + b.len - 4 : NULL;

	return p ? (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 |
			       (size_t)p[3] << 24 :
		   0;
}

int push_body_size(enum push_compression c, struct bytes body, size_t max,
		   size_t *size, struct err *err)
{
	*size = 0;
	if (c == PUSH_GZIP)
		*size = push_body_gzip_size(body);
	else if (c == PUSH_ZSTD && zstd_declared_size(body, size, NULL))
		*size = body.len < max / PUSH_BODY_RATIO ?
				body.len * PUSH_BODY_RATIO :
				max;
	if (*size <= max)
		return 0;
	return err_set(
		err, ERR_TOOBIG,
		"the request says that it has %zu bytes decompressed, more than --scrape.max-profile-size and 2 MiB; if it is a gzip stream without its end, the number means nothing",
		*size);
}

size_t push_body_memory(enum push_compression c, struct bytes body, size_t size)
{
	return size + (c == PUSH_ZSTD ? zstd_window(body) : 0);
}

/* Decompress a gzip stream of one member. */
static int push_body_gunzip(struct bytes body, struct buf *out, struct err *err)
{
	int rc = gzip_decompress_once(body, out, err);

	if (rc == ERR_TOOBIG)
		return err_set(
			err, ERR_INVALID,
			"the gzip stream of the request is longer than its end says: send it as one member");
	return rc ? err_wrap(err, ERR_INVALID,
			     "the body of the request is no gzip stream") :
		    0;
}

/* Decompress frames of zstd. */
static int push_body_unzstd(struct zstd *z, struct bytes body, struct buf *out,
			    struct err *err)
{
	int rc = zstd_decompress_all(z, body, out, err);

	if (rc == ERR_TOOBIG)
		return err_set(
			err, rc,
			"the request is compressed with zstd, does not say its size, and is more than %d times as large decompressed: send it with its size, or uncompressed",
			PUSH_BODY_RATIO);
	return rc ? err_wrap(err, ERR_INVALID,
			     "the body of the request is no zstd stream") :
		    0;
}

int push_body_decode(enum push_compression c, struct zstd *z, struct bytes body,
		     struct buf *out, struct bytes *message, struct err *err)
{
	int rc;

	*message = body;
	if (c == PUSH_IDENTITY)
		return 0;
	rc = c == PUSH_GZIP ? push_body_gunzip(body, out, err) :
			      push_body_unzstd(z, body, out, err);
	*message = buf_bytes(out);
	return rc;
}
