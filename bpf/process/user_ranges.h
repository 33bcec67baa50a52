/* SPDX-License-Identifier: Apache-2.0 */
/*
 * User ranges: which user numbers belong to one user. A user may have 65 536 of
 * them for user namespaces. Shares of time and room are given to users, so all
 * numbers of such a range count as one user.
 *
 * Ownership: the ranges own their list.
 * Threads: any, after they were read.
 * Source: subuid(5).
 */
#ifndef BPF_PROCESS_USER_RANGES_H
#define BPF_PROCESS_USER_RANGES_H

#include "base/vec.h"

enum {
	/* Largest size of the file in bytes; a longer one counts as none. */
	USER_RANGES_FILE_MAX = 256 << 10,
};

/* Consecutive numbers. */
struct user_range {
	uint32_t first; /* stands for all of them */
	uint32_t count;
};

/* All ranges. { 0 } has none. */
struct user_ranges {
	VEC(struct user_range) list;
};

/*
 * Read the ranges of a file as /etc/subuid. Lines that are wrong are left out. If
 * it cannot be read, there are no ranges.
 */
void user_ranges_read(struct user_ranges *r, const char *path);

/* Free the list. */
void user_ranges_fini(struct user_ranges *r);

/*
 * Return the number to whose share a user counts: the first of its range, or
 * its own if it is in no range. `r` may be NULL.
 */
uint32_t user_ranges_share(const struct user_ranges *r, uint32_t uid);

#endif
