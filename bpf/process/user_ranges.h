/* SPDX-License-Identifier: Apache-2.0 */
/*
 * User ranges: which user IDs belong to one user. A user may have a range of
 * further IDs, often 65 536, for user namespaces. Shares of time and room are
 * given to users, so all IDs of such a range count as one user. The user's own
 * ID counts separately.
 *
 * Ownership: the ranges own their list.
 * Threads: any, after they were read.
 * Source: subuid(5).
 */
#ifndef BPF_PROCESS_USER_RANGES_H
#define BPF_PROCESS_USER_RANGES_H

#include "base/vec.h"

enum {
	/*
	 * Largest size in bytes of the file that user_ranges_read() reads; a
	 * larger file counts as empty.
	 */
	USER_RANGES_FILE_MAX = 256 << 10,
};

/* Consecutive user IDs. */
struct user_range {
	uint32_t first; /* stands for all IDs of the range */
	uint32_t count;
};

/* All ranges. { 0 } has none. */
struct user_ranges {
	VEC(struct user_range) list;
};

/*
 * Read the ranges of the file `path`, which has the format of /etc/subuid.
 * Lines that are malformed, or whose range is empty, contains the user ID 0, or
 * contains numbers greater than the largest user ID, are left out. If the file
 * cannot be read, there are no ranges.
 */
void user_ranges_read(struct user_ranges *r, const char *path);

/* Free the list. */
void user_ranges_fini(struct user_ranges *r);

/*
 * Return the user ID to whose share `uid` counts: the first ID of the range
 * that contains `uid`, or `uid` itself if it is in no range. `r` may be NULL.
 */
uint32_t user_ranges_share(const struct user_ranges *r, uint32_t uid);

#endif
