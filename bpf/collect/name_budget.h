/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Name budget: limits the time for finding the names of a window, and how much
 * of this time each user gets. Any user can make files that take as long to
 * read as the reader allows. So a user other than root may take at most half of
 * the time of a window, and a file that took too long is not read again for a
 * while. A perf map counts as a file. Names for which no time was left are
 * looked for again in the next window; no profile waits for them.
 *
 * Threads: one thread at a time.
 * Units: nanoseconds of the monotonic clock, unless a name says otherwise.
 */
#ifndef BPF_COLLECT_NAME_BUDGET_H
#define BPF_COLLECT_NAME_BUDGET_H

#include "base/defs.h"

enum {
	/* Number of slow files, and of users, that are remembered. */
	NAME_BUDGET_FILES = 64,
	NAME_BUDGET_USERS = 16,
};

/* A file that took too long. */
struct slow_file {
	uint64_t key;
	int64_t until; /* when it may be read again */
	/* how often it took too long; a success does not reset this number */
	unsigned failures;
};

struct name_budget {
	int64_t window_ms; /* time for all names of a window; 0: no limit */
	int64_t end;       /* deadline of this window; 0: none */
	struct slow_file files[NAME_BUDGET_FILES];
	/* the entry to replace next, modulo NAME_BUDGET_FILES */
	unsigned next_file;
	struct {
		uint32_t uid;
		int64_t spent;
		/* the time that each user has spent in this window */
	} users[NAME_BUDGET_USERS];
	unsigned user_count;
};

/* Begin the budget of a new window. */
void name_budget_begin(struct name_budget *b, int64_t now);

/*
 * Return the deadline for reading the file with the key `file` for the user
 * `uid`; 0: there is none. If the deadline is not after `now`, the file must
 * not be read now.
 */
int64_t name_budget_end(const struct name_budget *b, uint64_t file,
			uint32_t uid, int64_t now);

/*
 * Note that reading a file began at `began` and ended at `now`. `late`: there
 * was a timeout, or the helper crashed. If reading was late and took at least a
 * quarter of the time of a window, the file must not be read again for a while:
 * 30 s at first, each time twice as long, and at most an hour.
 */
void name_budget_spend(struct name_budget *b, uint64_t file, uint32_t uid,
		       int64_t began, int64_t now, bool late);

#endif
