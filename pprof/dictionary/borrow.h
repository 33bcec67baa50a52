/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lends the array of one vector to another, so that a dictionary can look like
 * a profile without being copied. The borrowing vector must be given back
 * before it is freed, and must not grow in the meantime.
 *
 * Ownership: the lender keeps the array and must outlive the borrower.
 * Threads: one thread at a time.
 */
#ifndef PPROF_DICTIONARY_BORROW_H
#define PPROF_DICTIONARY_BORROW_H

/*
 * Let the vector `*to` use the array of the vector `*from`. Until
 * vec_give_back(), `*to` must not grow or be freed.
 */
#define vec_borrow(to, from)                 \
	do {                                 \
		(to)->v = (from)->v;         \
		(to)->count = (from)->count; \
		(to)->cap = (from)->count;   \
	} while (0)

/* Make `*to` empty again, so that vec_fini() does not free the lent array. */
#define vec_give_back(to)        \
	do {                     \
		(to)->v = NULL;  \
		(to)->count = 0; \
		(to)->cap = 0;   \
	} while (0)

#endif
