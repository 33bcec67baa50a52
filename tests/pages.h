/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks worked examples: the bytes that a writer of a format writes must be
 * those that the page of the format in docs/format/ shows.
 */
#ifndef TESTS_PAGES_H
#define TESTS_PAGES_H

#include <stdio.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/file_slurp.h"
#include "base/mem.h"

static inline void hex(const struct buf *b, struct buf *out)
{
	for (size_t i = 0; i < b->len; i++)
		buf_printf(out, "%02x%s", b->ptr[i],
			   i % 32 == 31 || i + 1 == b->len ? "\n" :
			   i % 4 == 3                      ? " " :
							     "");
}

/* Whether the block of a page that begins with `fence` shows these bytes. */
static inline bool in_block(const char *page, const char *fence,
			    const struct buf *bytes)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/format/%s", DOCS, page);
	struct buf text = { 0 };
	struct buf want = { 0 };
	const char *at;
	bool same;

	hex(bytes, &want);
	if (file_slurp(path, &text, NULL))
		return false;
	at = strstr(buf_cstr(&text), fence);
	same = at && !strncmp(at + strlen(fence), buf_cstr(&want), want.len);
	if (!same)
		fprintf(stderr, "%s should say:\n%s%s", page, fence,
			buf_cstr(&want));
	buf_fini(&text);
	buf_fini(&want);
	return same;
}

static inline bool in_page(const char *page, const struct buf *bytes)
{
	return in_block(page, "```hex\n", bytes);
}

#endif
