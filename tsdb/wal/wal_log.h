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

/* What wal_log_visit() calls, each with `ctx`. */
struct wal_log_visitor {
	/* A profile. An error ends the visit. */
	int (*profile)(void *ctx, const struct segment_profile *p,
		       struct err *err);
	/* A place where bytes are wrong. */
	void (*damaged)(void *ctx);
	/* A place that the disk could not read. An error ends the visit. */
	int (*unread)(void *ctx, const struct err *why);
	void *ctx;
};

/*
 * Visit all records of a segment that is not written any more, in the order of
 * LSNs. Returns the first error of a callback.
 */
NODISCARD int wal_log_visit(const struct wal_segment *s,
			    const struct wal_log_visitor *v, struct err *err);

#endif
