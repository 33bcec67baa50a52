/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writer of the wire format of protocol buffers: fields of a message, appended
 * to a buffer.
 *
 * Threads: one thread per buffer.
 */
#ifndef BASE_WIRE_WRITE_H
#define BASE_WIRE_WRITE_H

#include "base/buf.h"

/* Write a number; 0 is left out, as it is the default. */
void wire_write_number(struct buf *out, uint32_t number, uint64_t value);

/* Write a number of type double; 0 is left out. */
void wire_write_double(struct buf *out, uint32_t number, double value);

/* Write an element of a repeated field of type double, 0 as well. */
void wire_write_element(struct buf *out, uint32_t number, double value);

/* Write a text, bytes or a message; an empty one is written, too. */
void wire_write_bytes(struct buf *out, uint32_t number, struct bytes value);

/* Write a text, unless it is empty. */
void wire_write_str(struct buf *out, uint32_t number, struct str value);

/* Begin a field of bytes whose length is known: write its key and length. */
void wire_write_begin(struct buf *out, uint32_t number, size_t len);

#endif
