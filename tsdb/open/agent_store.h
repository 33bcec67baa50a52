/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The storage of everprof agent: a write-ahead log alone, from which remote
 * write sends the profiles. Nothing can be queried. The log has the format of a
 * database's WAL, so a database can be opened in the same directory later.
 *
 * Ownership: agent_store_close() frees everything; before that, the users of
 * the appender and of the sample log must be finished.
 * Threads: any, after agent_store_open() has returned.
 */
#ifndef TSDB_OPEN_AGENT_STORE_H
#define TSDB_OPEN_AGENT_STORE_H

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/metrics.h"
#include "model/appender.h"
#include "model/sample_log.h"

/* A store. */
struct agent_store;

/*
 * Options of agent_store_open(). All pointers are borrowed. A member that is
 * zero selects the default, which is given in brackets.
 */
struct agent_store_options {
	const char *path;
	struct fs *fs;             /* NULL: the operating system's */
	const struct clock *clock; /* NULL: the real clock */
	const struct log *log;
	struct metrics *metrics;
	/* Bytes of a segment [agent_store_segment_size() of the disk]. */
	int64_t segment_size;
	int64_t sync_ms; /* ms between syncs [1000]; -1: at each append */
};

/*
 * Return the default size of a segment on a disk of so many bytes: 16 MiB, or a
 * 64th of the disk. The last segment is never removed, so on a small disk, it has
 * to be small beside the backlog that remote write keeps.
 */
int64_t agent_store_segment_size(uint64_t disk);

/*
 * Open the store in the directory o->path, or create it. ERR_BUSY: another
 * process uses the directory. ERR_INVALID: the directory contains a database,
 * or something else. ERR_UNSUPPORTED: a newer version wrote it. ERR_IO,
 * ERR_NOSPACE: it cannot be read or created.
 */
NODISCARD int agent_store_open(const struct agent_store_options *o,
			       struct agent_store **out, struct err *err);

/* Make everything durable and free the store; NULL is a no-op. */
void agent_store_close(struct agent_store *s);

/*
 * Return the interface for appending, borrowed from the store. As in a
 * database, times before 1970 or more than ten minutes in the future are
 * refused. Old samples are accepted: the receiver of remote write decides
 * whether they are too old.
 */
struct appender *agent_store_appender(struct agent_store *s);

/* Return the interface for reading, borrowed from the store. */
struct sample_log *agent_store_log(struct agent_store *s);

/* Return the size of the log in bytes. */
uint64_t agent_store_bytes(struct agent_store *s);

#endif
