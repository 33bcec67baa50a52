/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encoder: fixed-width integers (big-endian, as in Prometheus' formats) and
 * varints (LEB128, in zigzag encoding for signed numbers), appended to a
 * buffer. A buffer that is full sets its sticky flag `over`, which the caller
 * checks at the end.
 *
 * Threads: one thread per buffer.
 */
#ifndef BASE_ENC_H
#define BASE_ENC_H

#include "base/buf.h"

/* Append a 16-bit big-endian integer. */
void enc_be16(struct buf *b, uint16_t v);

/* Append a 32-bit big-endian integer. */
void enc_be32(struct buf *b, uint32_t v);

/* Append a 64-bit big-endian integer. */
void enc_be64(struct buf *b, uint64_t v);

/* Append an unsigned varint: 1 to 10 bytes. */
void enc_uvarint(struct buf *b, uint64_t v);

/*
 * Append a signed number as a varint in zigzag encoding, which keeps small
 * negative numbers short.
 */
void enc_svarint(struct buf *b, int64_t v);

/* Append the length of s as a varint, then its bytes. */
void enc_str(struct buf *b, struct str s);

/*
 * Append zeros until the length of the buffer is a multiple of `align`, a power
 * of two that is at most 64.
 */
void enc_pad(struct buf *b, size_t align);

/* Store a 32-bit big-endian integer at p, which need not be aligned. */
void enc_put_be32(uint8_t *p, uint32_t v);

/* Store a 64-bit big-endian integer at p, which need not be aligned. */
void enc_put_be64(uint8_t *p, uint64_t v);

#endif
