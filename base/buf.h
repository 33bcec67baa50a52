/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffer: bytes that grow, up to a maximum that is given at the start.
 *
 * Going over the maximum is sticky, like the decoder's error: the buffer keeps
 * what it had, every later append is ignored, and the writer checks `over`
 * once at the end.
 *
 * Ownership: a buffer owns its bytes; buf_fini() frees them. Views taken from
 * it die with the next append.
 * Threads: one thread at a time.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/bytes.h"
#include "base/defs.h"

/* The zero value is an empty buffer whose maximum is BUF_MAX. */
struct buf {
	uint8_t *ptr;
	size_t len;
	size_t cap;
	size_t max; /* 0: BUF_MAX */
	bool over;  /* something did not fit */
};

#define BUF_MAX ((size_t)1 << 40)

/* An empty buffer of at most max bytes. */
static inline struct buf buf_init(size_t max)
{
	return (struct buf){ .max = max };
}

/* Free the bytes; the buffer is empty, with the same maximum. */
void buf_fini(struct buf *b);

/* The same for secrets: they do not stay in memory. */
void buf_forget(struct buf *b);

/* Forget the bytes but keep their memory, to be filled again. */
static inline void buf_reset(struct buf *b)
{
	b->len = 0;
	b->over = false;
}

/*
 * Room for n more bytes at b->ptr + b->len; false, with over set, when that
 * would pass the maximum.
 */
bool buf_reserve(struct buf *b, size_t n);

/* What cap will be when n more bytes have come. */
size_t buf_next_cap(const struct buf *b, size_t n);

void buf_add(struct buf *b, const void *p, size_t n);
void buf_byte(struct buf *b, uint8_t byte);
void buf_str(struct buf *b, const char *s);
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF(2, 3);

static inline struct bytes buf_bytes(const struct buf *b)
{
	return (struct bytes){ .ptr = b->ptr, .len = b->len };
}

/* The text so far with a NUL behind it; "" when that does not fit. */
const char *buf_cstr(struct buf *b);

#endif
