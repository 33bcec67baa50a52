/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The WAL as a sample log (model/sample_log.h): reading its durable records in
 * order, from any position.
 *
 * Ownership: the log is a part of the WAL.
 * Threads: any.
 */
#ifndef TSDB_WAL_WAL_LOG_H
#define TSDB_WAL_WAL_LOG_H

#include "model/sample_log.h"
#include "tsdb/wal/wal.h"

/* Initialise the interface when the WAL is opened. */
void wal_log_init(struct wal *w);

/* Return the interface, borrowed from the WAL. */
struct sample_log *wal_sample_log(struct wal *w);

/*
 * Call `fn` for each profile of a segment that is not written any more, in the
 * order of LSNs, until it fails, and damaged() for each damaged place. Returns
 * the error of `fn`. ERR_IO: the disk could not read the segment.
 */
NODISCARD int wal_log_visit(
	const struct wal_segment *s,
	int (*fn)(void *ctx, const struct segment_profile *p, struct err *err),
	void (*damaged)(void *ctx), void *ctx, struct err *err);

#endif
