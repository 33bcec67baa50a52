/* SPDX-License-Identifier: Apache-2.0 */
#include "base/xz.h"

#include <lzma.h>

enum {
	/* Decompressed bytes for which room is made at once. */
	XZ_PIECE = 256 << 10,
};

/* Return the error for what liblzma says. */
static int xz_error(lzma_ret said, struct err *err)
{
	if (said == LZMA_MEMLIMIT_ERROR || said == LZMA_MEM_ERROR)
		return err_set(err, ERR_TOOBIG,
			       "the .xz file takes too much memory");
	return err_set(err, ERR_CORRUPT,
		       "the .xz file is damaged (liblzma's code %d)", said);
}

/* Decompress the next bytes. *end: these were the last ones. */
static int xz_next(lzma_stream *s, struct buf *out, bool *end, struct err *err)
{
	size_t left = buf_limit(out) - out->len;
	size_t room = left < XZ_PIECE ? left : XZ_PIECE;
	bool full = !buf_reserve(out, room) || !room;
	uint8_t beyond; /* is written if there is more than fits */
	lzma_ret said;

	s->next_out = full ? &beyond : out->ptr + out->len;
	s->avail_out = full ? 1 : room;
	said = lzma_code(s, LZMA_FINISH);
	if (full && !s->avail_out)
		return err_set(err, ERR_TOOBIG,
			       "the .xz file has more than %zu bytes",
			       buf_limit(out));
	out->len += full ? 0 : room - s->avail_out;
	*end = said == LZMA_STREAM_END;
	return said == LZMA_OK || *end ? 0 : xz_error(said, err);
}

int xz_decompress(struct bytes in, uint64_t memory, struct buf *out,
		  struct err *err)
{
	lzma_stream s = LZMA_STREAM_INIT;
	lzma_ret said = lzma_stream_decoder(&s, memory, LZMA_CONCATENATED);
	bool end = false;
	int rc = said == LZMA_OK ? 0 : xz_error(said, err);

	s.next_in = in.ptr;
	s.avail_in = in.len;
	while (!rc && !end)
		rc = xz_next(&s, out, &end, err);
	lzma_end(&s);
	return rc;
}
