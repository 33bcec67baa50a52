/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Query progress: how far a running query is, and whether it is still wanted.
 *
 * Ownership: whoever starts the query owns it.
 * Threads: any; all members are atomic.
 */
#ifndef QUERY_QUERY_PROGRESS_H
#define QUERY_QUERY_PROGRESS_H

#include <stdatomic.h>
#include <stdint.h>

/* The state of a query that other threads may read, and its end. */
struct query_progress {
	/* Number of profiles that the query reads; 0: not known (yet). */
	_Atomic int64_t profiles;
	_Atomic int64_t done;  /* number of profiles that were read */
	_Atomic int64_t bytes; /* memory that the query holds */
	/* Nobody waits for the answer any more: the query ends. */
	_Atomic bool cancelled;
};

#endif
