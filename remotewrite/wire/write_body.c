/* SPDX-License-Identifier: Apache-2.0 */
#include "remotewrite/wire/write_body.h"

#include <strings.h>

#include "base/base64.h"
#include "base/digest.h"
#include "base/snappy.h"

/*
 * Whether the header `content_type` names the message WriteRequest: its type is
 * application/x-protobuf, or the header is empty. With a parameter `proto`, the
 * header is refused, because newer senders of Prometheus name another message
 * by this parameter.
 */
static bool is_protobuf(const char *content_type)
{
	struct str parameters;
	struct str type =
		str_trim(str_cut(str_of(content_type), ';', &parameters));

	while (parameters.len) {
		struct str p = str_trim(str_cut(parameters, ';', &parameters));

		if (p.len >= 6 && !strncasecmp(p.ptr, "proto=", 6))
			return false;
	}
	return !type.len || str_is_nocase(type, "application/x-protobuf");
}

int write_body_compression(const char *content_type,
			   const char *content_encoding,
			   enum write_compression *out, struct err *err)
{
	if (!is_protobuf(content_type))
		return err_set(
			err, ERR_MEDIA,
			"unsupported Content-Type \"%.100s\": use application/x-protobuf, without the parameter proto",
			content_type);
	*out = WRITE_ZSTD;
	if (!strcasecmp(content_encoding, "zstd"))
		return 0;
	*out = WRITE_SNAPPY;
	if (!strcasecmp(content_encoding, "snappy"))
		return 0;
	return err_set(
		err, ERR_MEDIA,
		"unsupported Content-Encoding \"%.100s\": use zstd or snappy",
		content_encoding);
}

/*
 * Turn ERR_CORRUPT into ERR_INVALID: the sender must not send malformed bytes
 * again.
 */
static int as_invalid(int rc)
{
	return rc == ERR_CORRUPT ? ERR_INVALID : rc;
}

int write_body_size(enum write_compression c, struct bytes body, size_t max,
		    size_t *size, struct err *err)
{
	int rc = c == WRITE_SNAPPY ? snappy_declared_size(body, size, err) :
				     zstd_declared_size(body, size, err);

	if (rc)
		return err_wrap(err, as_invalid(rc), "request body");
	if (*size > max)
		return err_set(
			err, ERR_TOOBIG,
			"the request has %zu bytes, decompressed; at most %zu are allowed (--scrape.max-profile-size of the receiver, and 2 MB more): raise this flag, or send fewer profiles in a request",
			*size, max);
	return 0;
}

int write_body_decode(enum write_compression c, struct zstd *z,
		      struct bytes body, size_t size, struct buf *out,
		      struct err *err)
{
	int rc;

	buf_reset(out);
	rc = c == WRITE_SNAPPY ? snappy_decompress(body, out, err) :
				 zstd_decompress(z, body, size, out, err);
	return rc ? err_wrap(err, as_invalid(rc), "request body") : 0;
}

void write_body_digest(struct bytes body, struct buf *out)
{
	uint8_t digest[DIGEST_SHA256_SIZE];

	digest_sha256(body, digest);
	buf_str(out, "sha-256=:");
	base64_encode((struct bytes){ digest, sizeof(digest) }, out);
	buf_byte(out, ':');
}

int write_body_check_digest(const char *content_digest, struct bytes body,
			    struct err *err)
{
	struct str rest = str_of(content_digest);
	struct buf expected = { 0 };
	int rc = 0;

	write_body_digest(body, &expected);
	while (!rc && rest.len) {
		struct str one = str_trim(str_cut(rest, ',', &rest));

		if (str_starts(one, str_of("sha-256=")) &&
		    !str_is(one, buf_cstr(&expected)))
			rc = err_set(
				err, ERR_AGAIN,
				"the SHA-256 of the compressed request body is not that of the header Content-Digest: the body was changed on the way; send the request again");
	}
	buf_fini(&expected);
	return rc;
}
