/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Query progress: how much of a query is done, and whether to cancel it.
 *
 * Ownership: the caller that starts the query owns it.
 * Threads: any; all members are atomic.
 */
#ifndef QUERY_SELECT_QUERY_PROGRESS_H
#define QUERY_SELECT_QUERY_PROGRESS_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * The progress of a query, which other threads may read, and a flag by which
 * they can cancel the query.
 */
struct query_progress {
	/* Number of profiles that the query will read; 0: not known (yet). */
	_Atomic int64_t profiles;
	_Atomic int64_t done;  /* number of profiles that were read */
	_Atomic int64_t bytes; /* memory that the query holds */
	/*
	 * Set when nobody waits for the answer any more; the query then ends.
	 */
	_Atomic bool cancelled;
};

#endif
