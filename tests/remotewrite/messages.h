/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of remote write for tests, built field by field.
 *
 * Ownership: the caller frees the buffers.
 * Threads: plain functions.
 */
#ifndef TESTS_REMOTEWRITE_MESSAGES_H
#define TESTS_REMOTEWRITE_MESSAGES_H

#include "base/buf.h"
#include "base/enc.h"

/* Append a field with bytes. */
static inline void put_field(struct buf *out, unsigned number, struct bytes b)
{
	enc_uvarint(out, number << 3 | 2);
	enc_uvarint(out, b.len);
	buf_add(out, b.ptr, b.len);
}

/* Append a field with a number. */
static inline void put_number(struct buf *out, unsigned number, uint64_t v)
{
	enc_uvarint(out, number << 3);
	enc_uvarint(out, v);
}

/* Append a label as a field of a series. */
static inline void put_label(struct buf *series, const char *name,
			     const char *value)
{
	struct buf b = { 0 };

	put_field(&b, 1, bytes_of(str_of(name)));
	put_field(&b, 2, bytes_of(str_of(value)));
	put_field(series, 1, buf_bytes(&b));
	buf_fini(&b);
}

/* Append a sample as a field of a series. */
static inline void put_sample(struct buf *series, const char *value, int64_t ms)
{
	struct buf b = { 0 };

	put_field(&b, 1, bytes_of(str_of(value)));
	put_number(&b, 2, (uint64_t)ms);
	put_field(series, 2, buf_bytes(&b));
	buf_fini(&b);
}

/* Append a series as a field of a request, and empty it. */
static inline void put_series(struct buf *request, struct buf *series)
{
	put_field(request, 1, buf_bytes(series));
	buf_fini(series);
}

#endif
