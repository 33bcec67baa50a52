/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A buffer is a byte array that grows up to a maximum, which is set when the
 * buffer is created.
 *
 * Exceeding the maximum is a sticky error: the buffer keeps what it had, an
 * append that does not fit is dropped, and the writer checks `over` once at the
 * end. The contents are then incomplete.
 *
 * Ownership: a buffer owns its bytes; buf_fini() frees them. Views into the
 * buffer become invalid with the next append.
 * Threads: one thread at a time.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/bytes.h"
#include "base/defs.h"

/*
 * A growing byte array. The zero value is an empty buffer whose maximum is
 * BUF_MAX.
 */
struct buf {
	uint8_t *ptr;
	size_t len; /* number of bytes in use */
	size_t cap; /* number of bytes allocated */
	size_t max; /* the largest permitted `len`; 0 means BUF_MAX */
	bool over;  /* whether an append did not fit */
};

/*
 * The largest length, in bytes, of a buffer whose `max` is 0: practically no
 * bound.
 */
#define BUF_MAX ((size_t)1 << 40)

/* Return an empty buffer of at most `max` bytes; 0 means BUF_MAX. */
static inline struct buf buf_init(size_t max)
{
	return (struct buf){ .max = max };
}

/* Free the bytes. The buffer is empty afterwards and keeps its maximum. */
void buf_fini(struct buf *b);

/*
 * Overwrite the bytes with zeros, then free them as buf_fini() does. For
 * secrets, which must not remain in freed memory. A buffer that grows may leave
 * copies of its bytes in freed memory, so the caller reserves room for a secret
 * beforehand.
 */
void buf_forget(struct buf *b);

/*
 * Empty the buffer and clear `over`, but keep the allocated memory for reuse.
 */
static inline void buf_reset(struct buf *b)
{
	b->len = 0;
	b->over = false;
}

/* Return the maximum of b->len. */
size_t buf_limit(const struct buf *b);

/*
 * Make room for n more bytes at b->ptr + b->len. Returns false when `over` is
 * set already, or when n more bytes would exceed the maximum; the latter sets
 * `over`.
 */
bool buf_reserve(struct buf *b, size_t n);

/*
 * Return the capacity that the buffer will have after n more bytes are
 * appended, so that a caller can charge a budget before it appends.
 */
size_t buf_next_cap(const struct buf *b, size_t n);

/* Append n bytes at p, or nothing when they do not all fit. */
void buf_add(struct buf *b, const void *p, size_t n);

/* Append one byte. */
void buf_byte(struct buf *b, uint8_t byte);

/* Append a text with its ASCII letters in lower case. */
void buf_lower(struct buf *b, struct str s);

/* Return a copy of a text as buf_lower() writes it; the caller owns it. */
char *buf_lower_copy(struct str s);

/* Append a NUL-terminated string without its NUL. */
void buf_str(struct buf *b, const char *s);

/*
 * Append s, with `replacement` for each byte that does not belong to a valid
 * UTF-8 sequence; see str_utf8_len().
 */
void buf_utf8(struct buf *b, struct str s, const char *replacement);

/* Append a character, given by its number in Unicode, as UTF-8. */
void buf_utf8_char(struct buf *b, uint32_t c);

/*
 * Append formatted text, or nothing when the text does not fit. A text of 256
 * bytes or more fits only if the buffer has room for a NUL after it, because
 * vsnprintf() writes one.
 */
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF(2, 3);

/* Return a view of the contents, valid until the next append. */
static inline struct bytes buf_bytes(const struct buf *b)
{
	return (struct bytes){ .ptr = b->ptr, .len = b->len };
}

/*
 * Return the contents as a NUL-terminated string, valid until the next append.
 * Returns "" when there is no room for the NUL or `over` is set.
 */
const char *buf_cstr(struct buf *b);

#endif
