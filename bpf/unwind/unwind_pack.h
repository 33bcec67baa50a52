/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind pack: the unwind table of a file as the kernel has it. Functions begin
 * and end with the same few instructions, so the same rules follow each other
 * at the same distances again and again. A pack has each such pattern once.
 *
 * A pack is an array of entries of four kinds, in this order. Where an entry
 * refers to another entry, it has the index of the latter:
 *
 *   head    the address of the first run, and the size of a page: 1 << `steps`
 *   pages   for each page of addresses, from the address of the first run on:
 *           `pc` is the first run that begins in the page or later, `steps` is
 *           the first run that begins after the page
 *   runs    sorted by address; for each group of rows that lie close together:
 *           `pc` is the address of the first row, `steps` is the first step of
 *           the pattern
 *   steps   the patterns; for each row of a pattern: the rules of the row
 *
 * With pages, a search looks at few entries, which lie close together. The `pc`
 * of a step is the distance of the row from the beginning of the run. The last
 * step of a pattern is stored first, because that step is mostly the wanted
 * one: a function makes its calls after its first instructions have set up its
 * frame. The step with the distance 0 ends the pattern.
 *
 * The pack of a large table has a third of the table's size: for Firefox, 0.9
 * million entries in place of 2.7 million rows.
 *
 * Ownership: a pack borrows its entries.
 * Threads: any.
 */
#ifndef BPF_UNWIND_UNWIND_PACK_H
#define BPF_UNWIND_UNWIND_PACK_H

#include "base/buf.h"
#include "bpf/unwind/unwind_row.h"

/* A pack. { 0 } is the pack of a file without rows. */
struct unwind_pack {
	const struct unwind_row *entries;
	uint32_t count; /* number of entries */
	uint32_t pages; /* number of pages */
};

/*
 * Append the entries of a pack to `out`, for `count` rows that are sorted by
 * address. Returns the number of pages, or 0 if there are no rows.
 */
uint32_t unwind_pack_add(const struct unwind_row *rows, size_t count,
			 struct buf *out);

/*
 * Whether the indexes in a pack refer to entries of the right kind, its runs
 * are sorted, and its last pattern ends, so that a search never leaves the
 * pack. The file helper (symbols/helper/file_helper.h) that made the pack is
 * not trusted, because a hostile file may have taken over the helper.
 */
NODISCARD bool unwind_pack_check(const struct unwind_pack *p);

#endif
