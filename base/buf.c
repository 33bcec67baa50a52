/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

void buf_fini(struct buf *b)
{
	mem_free(b->ptr);
	*b = (struct buf){ .max = b->max };
}

void buf_forget(struct buf *b)
{
	/*
	 * Unlike memset(), explicit_bzero() is not optimised away before memory
	 * is freed.
	 */
	if (b->ptr)
		explicit_bzero(b->ptr, b->len);
	buf_fini(b);
}

size_t buf_limit(const struct buf *b)
{
	return b->max ? b->max : BUF_MAX;
}

/*
 * Capacity grows by half, so that n appends cost O(n) copying and at most a
 * third of the memory is unused.
 */
size_t buf_next_cap(const struct buf *b, size_t n)
{
	size_t max = buf_limit(b);
	size_t cap = b->cap + b->cap / 2;

	if (n <= b->cap - b->len)
		return b->cap;
	if (cap < b->len + n)
		cap = b->len + n;
	if (cap < 64)
		cap = 64;
	return cap > max ? max : cap;
}

/*
 * Every append that needs memory calls this function, the only one that
 * enforces the maximum.
 */
bool buf_reserve(struct buf *b, size_t n)
{
	size_t max = buf_limit(b);
	size_t cap;

	if (b->over || n > max - b->len) {
		b->over = true;
		return false;
	}
	cap = buf_next_cap(b, n);
	if (cap == b->cap)
		return true;
	b->ptr = mem_realloc(b->ptr, cap, 1);
	b->cap = cap;
	return true;
}

void buf_add(struct buf *b, const void *p, size_t n)
{
	if (!n || !buf_reserve(b, n))
		return;
	memcpy(b->ptr + b->len, p, n);
	b->len += n;
}

/*
 * Encoders call buf_byte() for every byte, so the common case must be fast:
 * buf_reserve() is called only when the buffer is full.
 */
void buf_byte(struct buf *b, uint8_t byte)
{
	if (b->len == b->cap && !buf_reserve(b, 1))
		return;
	b->ptr[b->len++] = byte;
}

void buf_lower(struct buf *b, struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];

		buf_byte(b, (uint8_t)(c >= 'A' && c <= 'Z' ? c | 0x20 : c));
	}
}

char *buf_lower_copy(struct str s)
{
	struct buf lower = { 0 };
	char *copy;

	buf_lower(&lower, s);
	copy = mem_strdup(buf_cstr(&lower));
	buf_fini(&lower);
	return copy;
}

void buf_str(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void buf_utf8(struct buf *b, struct str s, const char *replacement)
{
	while (s.len) {
		size_t n = str_utf8_len(s);

		if (n)
			buf_add(b, s.ptr, n);
		else
			buf_str(b, replacement);
		s.ptr += n ? n : 1;
		s.len -= n ? n : 1;
	}
}

void buf_utf8_char(struct buf *b, uint32_t c)
{
	unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	static const uint8_t first[] = { 0x00, 0xc0, 0xe0, 0xf0 };

	buf_byte(b, (uint8_t)(first[more] | c >> 6 * more));
	while (more--)
		buf_byte(b, (uint8_t)(0x80 | (c >> 6 * more & 0x3f)));
}

/*
 * Most texts are short, so they are formatted once, on the stack; only longer
 * ones are formatted a second time, into the buffer.
 */
void buf_printf(struct buf *b, const char *fmt, ...)
{
	char small[256];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(small, sizeof(small), fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	if ((size_t)n < sizeof(small)) {
		buf_add(b, small, (size_t)n);
		return;
	}
	/* vsnprintf() writes a NUL as well, which `len` does not count. */
	if (!buf_reserve(b, (size_t)n + 1))
		return;
	va_start(ap, fmt);
	vsnprintf((char *)b->ptr + b->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
}

const char *buf_cstr(struct buf *b)
{
	if (!buf_reserve(b, 1))
		return "";
	b->ptr[b->len] = 0;
	return (const char *)b->ptr;
}
