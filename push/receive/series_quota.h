/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Series quota: how many new series one sender may add within an hour, so that
 * a label with the id of a request, say, does not use up the series of all
 * others. A series is new if nobody has sent it in this hour or in the one
 * before. The hours are those of the process, and after a restart all series are
 * new again.
 *
 * Ownership: series_quota_free() frees a quota.
 * Threads: any; a lock is inside.
 * Limits: 4 MB of memory. If more than QUOTA_SERIES_MAX series come within an
 * hour, the oldest are forgotten, and count as new again; of more than
 * QUOTA_SENDERS_MAX senders, the one that added the fewest series.
 */
#ifndef PUSH_RECEIVE_SERIES_QUOTA_H
#define PUSH_RECEIVE_SERIES_QUOTA_H

#include "base/defs.h"

enum {
	QUOTA_SERIES_MAX = 128 * 1024,
	QUOTA_SENDERS_MAX = 4096
};

/* What a series is to a quota. */
enum quota_verdict {
	QUOTA_KNOWN,  /* somebody has sent it */
	QUOTA_NEW,    /* it counts from now on */
	QUOTA_REFUSED /* it is one too many */
};

struct series_quota;

/* Create a quota of `max` new series an hour and sender; 0: no limit. */
struct series_quota *series_quota_new(uint64_t max);

/* Free a quota that no thread uses any more. NULL is a no-op. */
void series_quota_free(struct series_quota *q);

/*
 * Judge a series that a sender sends now. Sender and series are hashes of
 * hash_key(); now_ns is a time of clock_mono_ns().
 */
enum quota_verdict series_quota_admit(struct series_quota *q, uint64_t sender,
				      uint64_t series, int64_t now_ns);

/* Take QUOTA_NEW back: no profile of the series was stored. */
void series_quota_withdraw(struct series_quota *q, uint64_t sender,
			   uint64_t series);

#endif
