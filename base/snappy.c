/* SPDX-License-Identifier: Apache-2.0 */
#include "base/snappy.h"

#include <snappy-c.h>

/*
 * The block begins with its decompressed size, which is compared with the
 * maximum before memory is reserved for it. libsnappy detects a wrong size.
 */
int snappy_decompress(struct bytes in, struct buf *out, struct err *err)
{
	const char *p = str_from(in).ptr;
	size_t len = 0;
	int rc;

	buf_reset(out);
	rc = snappy_declared_size(in, &len, err);
	if (rc)
		return rc;
	if (!buf_reserve(out, len))
		return err_set(
			err, ERR_TOOBIG,
			"the snappy block decompresses to %zu bytes; at most %zu are allowed here",
			len, buf_limit(out));
	if (snappy_uncompress(p, in.len, (char *)out->ptr, &len) != SNAPPY_OK)
		return err_set(err, ERR_CORRUPT, "the snappy block is damaged");
	out->len = len;
	return 0;
}

int snappy_declared_size(struct bytes in, size_t *size, struct err *err)
{
	if (snappy_uncompressed_length(str_from(in).ptr, in.len, size) !=
	    SNAPPY_OK)
		return err_set(err, ERR_CORRUPT,
			       "the data is not a snappy block");
	return 0;
}

void snappy_add_block(struct bytes in, struct buf *out)
{
	size_t len = snappy_max_compressed_length(in.len);

	if (!buf_reserve(out, len))
		return;
	/* The room suffices, so this never fails. */
	if (snappy_compress(str_from(in).ptr, in.len,
			    (char *)out->ptr + out->len, &len) == SNAPPY_OK)
		out->len += len;
}
