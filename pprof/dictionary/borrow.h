/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Borrow: a vector that is another one's array for a while, so that a
 * dictionary can look like a profile without being copied. It must be given
 * back before anybody frees it, and nothing may be added to it.
 *
 * Ownership: the borrowed dictionary outlives the borrower.
 * Threads: one thread at a time.
 */
#ifndef PPROF_DICTIONARY_BORROW_H
#define PPROF_DICTIONARY_BORROW_H

#define vec_borrow(to, from)                 \
	do {                                 \
		(to)->v = (from)->v;         \
		(to)->count = (from)->count; \
		(to)->cap = (from)->count;   \
	} while (0)

#define vec_give_back(to)        \
	do {                     \
		(to)->v = NULL;  \
		(to)->count = 0; \
		(to)->cap = 0;   \
	} while (0)

#endif
