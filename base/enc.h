/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encoder: fixed-width integers (big-endian, as in Prometheus' formats) and
 * varints (LEB128, zigzag for signed ones), appended to a buffer. A full
 * buffer is the buffer's sticky `over`.
 *
 * Ownership: appends to the caller's buffer.
 * Threads: one thread a buffer.
 */
#ifndef BASE_ENC_H
#define BASE_ENC_H

#include "base/buf.h"

void enc_be16(struct buf *b, uint16_t v);
void enc_be32(struct buf *b, uint32_t v);
void enc_be64(struct buf *b, uint64_t v);
void enc_uvarint(struct buf *b, uint64_t v);
void enc_svarint(struct buf *b, int64_t v);

/* A length as uvarint, and the bytes. */
void enc_str(struct buf *b, struct str s);

/* Zeros up to the next multiple of align (a power of two). */
void enc_pad(struct buf *b, size_t align);

/* Store at p. */
void put_be32(uint8_t *p, uint32_t v);
void put_be64(uint8_t *p, uint64_t v);

#endif
