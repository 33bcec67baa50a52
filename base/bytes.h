/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Borrowed views: byte ranges, and text that need not end with NUL.
 *
 * Ownership: a view does not own what it points to; the owner must outlive the
 * view.
 * Threads: plain values.
 */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <string.h>

#include "base/defs.h"

/* A view of bytes. `ptr` may be NULL when `len` is 0. */
struct bytes {
	const uint8_t *ptr;
	size_t len;
};

/*
 * A view of text, usually UTF-8, not necessarily NUL-terminated. `ptr` may be
 * NULL when `len` is 0.
 */
struct str {
	const char *ptr;
	size_t len;
};

/* Copy the bytes of a view to `to`, which must have room for them. */
static inline void bytes_copy(void *to, struct bytes from)
{
	/* memcpy() must not get a NULL pointer, whatever the length. */
	if (from.len)
		memcpy(to, from.ptr, from.len);
}

/* The two arguments for "%.*s" in printf formats. */
#define STR_ARG(s) (int)(s).len, (s).ptr

/* Return a view of a NUL-terminated string; NULL gives the empty view. */
static inline struct str str_of(const char *s)
{
	return (struct str){ .ptr = s ? s : "", .len = s ? strlen(s) : 0 };
}

/*
 * Compare two texts by bytes, as memcmp() does; a text sorts after its own
 * prefixes. Returns -1, 0 or 1.
 */
int str_cmp(struct str a, struct str b);

/* Whether two texts are equal. */
static inline bool str_eq(struct str a, struct str b)
{
	return a.len == b.len && (!a.len || !memcmp(a.ptr, b.ptr, a.len));
}

/* Whether a text equals a NUL-terminated string. */
static inline bool str_is(struct str a, const char *b)
{
	return str_eq(a, str_of(b));
}

/*
 * Whether a text equals a NUL-terminated string, ignoring the case of ASCII
 * letters.
 */
bool str_is_nocase(struct str a, const char *b);

/* Return how many times the character `c` occurs in s. */
size_t str_count(struct str s, char c);

/*
 * Return whether `part` occurs in s, where ASCII letters match in either case.
 * An empty part occurs in every text.
 */
bool str_contains_nocase(struct str s, struct str part);

/* Whether s ends with `end`. */
static inline bool str_ends(struct str s, const char *end)
{
	size_t n = strlen(end);

	return s.len >= n && !memcmp(s.ptr + s.len - n, end, n);
}

/* Whether s starts with `prefix`. Every text starts with the empty text. */
static inline bool str_starts(struct str s, struct str prefix)
{
	return s.len >= prefix.len &&
	       (!prefix.len || !memcmp(s.ptr, prefix.ptr, prefix.len));
}

/*
 * Return the length, in bytes, of the UTF-8 sequence at the start of s (RFC
 * 3629, section 4), or 0 when s does not start with a valid sequence.
 */
size_t str_utf8_len(struct str s);

/*
 * Return the beginning of s, of at most `max` bytes, without cutting a UTF-8
 * sequence in two.
 */
struct str str_clip(struct str s, size_t max);

/* Whether s is well-formed UTF-8: surrogates and overlong forms are refused. */
bool str_is_utf8(struct str s);

/*
 * Split s at the first character `sep`. Returns the part before it and stores
 * the part after it in *rest. When s does not contain `sep`, returns s and
 * stores the empty text.
 */
struct str str_cut(struct str s, char sep, struct str *rest);

/* Return s without leading and trailing spaces, tabs and line ends. */
struct str str_trim(struct str s);

/*
 * Copy a text to an array of `size` bytes, and end it with NUL. Returns false
 * and leaves the array untouched when the text does not fit or has a NUL.
 */
NODISCARD bool str_to_array(struct str s, char *to, size_t size);

/*
 * Parse the whole text as a decimal number such as "-1.5e3". Unlike strtod()
 * this accepts no blanks, hexadecimal numbers, infinities or NaN.
 */
NODISCARD bool str_to_double(struct str s, double *out);

/* Return the value of a hexadecimal digit, or -1 for any other character. */
static inline int digit_hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/*
 * Parse the whole text as a decimal integer with an optional "-". Returns false
 * and leaves *out untouched when s is anything else or is out of range.
 */
NODISCARD bool str_to_i64(struct str s, int64_t *out);

/* Return a view of a text as bytes. */
static inline struct bytes bytes_of(struct str s)
{
	return (struct bytes){ .ptr = (const uint8_t *)s.ptr, .len = s.len };
}

/* Return a view of bytes as a text; nothing is validated. */
static inline struct str str_from(struct bytes b)
{
	return (struct str){ .ptr = (const char *)b.ptr, .len = b.len };
}

/* Whether two byte ranges are equal. */
static inline bool bytes_eq(struct bytes a, struct bytes b)
{
	return a.len == b.len && (!a.len || !memcmp(a.ptr, b.ptr, a.len));
}

#endif
