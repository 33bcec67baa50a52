/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Borrowed ranges: bytes, and text that need not end in NUL.
 *
 * Ownership: neither owns what it points to; the owner must outlive it.
 * Threads: plain values.
 */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <string.h>

#include "base/defs.h"

struct bytes {
	const uint8_t *ptr;
	size_t len;
};

struct str {
	const char *ptr;
	size_t len;
};

/* For printf: "%.*s", STR_ARG(s). */
#define STR_ARG(s) (int)(s).len, (s).ptr

/* A view of a NUL-terminated string; NULL is the empty one. */
static inline struct str str_of(const char *s)
{
	return (struct str){ .ptr = s ? s : "", .len = s ? strlen(s) : 0 };
}

/* -1, 0 or 1, by bytes as memcmp, the shorter of two equal starts first. */
int str_cmp(struct str a, struct str b);

static inline bool str_eq(struct str a, struct str b)
{
	return a.len == b.len && (!a.len || !memcmp(a.ptr, b.ptr, a.len));
}

static inline bool str_is(struct str a, const char *b)
{
	return str_eq(a, str_of(b));
}

/* The same, small and capital letters of ASCII being one. */
bool str_is_nocase(struct str a, const char *b);

static inline bool str_starts(struct str s, struct str prefix)
{
	return s.len >= prefix.len &&
	       (!prefix.len || !memcmp(s.ptr, prefix.ptr, prefix.len));
}

/*
 * Length of the UTF-8 sequence that s starts with (RFC 3629, 4); 0 when it
 * does not start with one.
 */
size_t str_utf8_len(struct str s);

/* Whether s is well-formed UTF-8 (no surrogates, no overlong forms). */
bool str_is_utf8(struct str s);

/*
 * Cut s at the first sep: returns what is before it and leaves what is after
 * it in *rest; without sep the whole of s and an empty rest.
 */
struct str str_cut(struct str s, char sep, struct str *rest);

/* s without spaces, tabs and line ends on both sides. */
struct str str_trim(struct str s);

/*
 * A decimal number that is the whole of s. False when it is not one, or out of
 * range; *out is then untouched.
 */
NODISCARD bool str_to_i64(struct str s, int64_t *out);

static inline struct bytes bytes_of(struct str s)
{
	return (struct bytes){ .ptr = (const uint8_t *)s.ptr, .len = s.len };
}

static inline struct str str_from(struct bytes b)
{
	return (struct str){ .ptr = (const char *)b.ptr, .len = b.len };
}

static inline bool bytes_eq(struct bytes a, struct bytes b)
{
	return a.len == b.len && (!a.len || !memcmp(a.ptr, b.ptr, a.len));
}

#endif
