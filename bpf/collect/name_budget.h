/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Name budget: limits the time that the names of a window, of a user's files
 * and of one file may take. Files of strangers can be made to take as long as
 * the reader allows, so a window, a user and a file each have a bound, and a
 * file that took too long is left alone for a while. Names that are missing for
 * this reason are asked for again in the next window; no profile waits for
 * them.
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
	int64_t until;     /* when it may be read again */
	unsigned failures; /* in a row */
};

struct name_budget {
	int64_t window_ms; /* for all names of a window; 0: no bound */
	int64_t end;       /* of this window; 0: none */
	struct slow_file files[NAME_BUDGET_FILES];
	unsigned next_file; /* the entry that is replaced next */
	struct {
		uint32_t uid;
		int64_t spent;
	} users[NAME_BUDGET_USERS]; /* in this window */
	unsigned user_count;
};

/* Begin the budget of a new window. */
void name_budget_begin(struct name_budget *b, int64_t now);

/*
 * Return the time at which reading a file of a user has to end. 0: there is no
 * bound. A time that is not after `now`: the file must not be read now.
 */
int64_t name_budget_end(const struct name_budget *b, uint64_t file,
			uint32_t uid, int64_t now);

/*
 * Note how long reading a file took. `late`: reading failed or did not end in
 * time. Unless the file had little time, it is then left alone, each time for
 * longer.
 */
void name_budget_spend(struct name_budget *b, uint64_t file, uint32_t uid,
		       int64_t began, int64_t now, bool late);

#endif
