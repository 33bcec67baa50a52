/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outage: decides what a failed read (ERR_IO) means for stored bytes. A disk
 * that does not answer usually answers again: a controller resets, a cable or a
 * network comes back. So a failed read is not damage. For some minutes, the
 * work that needs the bytes is put off, and nothing is removed. Only when reads
 * have failed for longer does the work go on without the bytes, so that one bad
 * sector cannot stop everything; the caller then keeps the file, and reports
 * what is missing (docs/decisions.md, 190).
 *
 * Ownership: a plain value of the caller; all zeros is an outage that has not
 * begun.
 * Threads: one thread at a time for each outage.
 */
#ifndef BASE_OUTAGE_H
#define BASE_OUTAGE_H

#include "base/err.h"

/* For how long work is put off, in ms. */
#define OUTAGE_MS 300000LL

/* The failed reads of one piece of work. */
struct outage {
	/* Monotonic time of the first failure, in ns; 0: no read has failed. */
	int64_t since_ns;
};

/*
 * Note the result `rc` of a read. If it is ERR_IO and reads have failed for
 * less than `limit_ms` (0: OUTAGE_MS; negative: none), return ERR_AGAIN with
 * the message of *err: the caller has to try again later. Otherwise return `rc`
 * as it is; if it is ERR_IO, the caller goes on without the bytes and keeps
 * the file.
 */
int outage_note(struct outage *o, int rc, int64_t limit_ms, struct err *err);

/* Note that all bytes could be read. */
void outage_end(struct outage *o);

#endif
