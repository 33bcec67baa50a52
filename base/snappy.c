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

	buf_reset(out);
	if (snappy_uncompressed_length(p, in.len, &len) != SNAPPY_OK)
		return err_set(err, ERR_CORRUPT,
			       "the data is not a snappy block");
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
