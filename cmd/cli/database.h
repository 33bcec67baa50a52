/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A data directory that a command opens, with the log and the metrics that the
 * database needs.
 *
 * Ownership: the caller owns the struct; database_close() frees what it holds.
 * Threads: one thread at a time; the database within it allows any.
 */
#ifndef CMD_CLI_DATABASE_H
#define CMD_CLI_DATABASE_H

#include "base/err.h"
#include "base/log.h"
#include "base/metrics.h"
#include "tsdb/open/tsdb.h"

/* The folder of a data directory with the cursors of remote write. */
#define DATABASE_REMOTE "remote"

/*
 * Whether remote write has sent profiles of this data directory, and may not
 * have sent all of them: then segments of the WAL are held until it has.
 */
bool database_has_receivers(const char *path);

/* A database that is open for one command. */
struct database {
	struct log log; /* warnings, to stderr */
	struct metrics *metrics;
	struct tsdb *db; /* NULL: opening failed */
};

/*
 * Open the database of a directory that must exist, without retention or
 * background work. A server may be using the directory if read_only is true.
 * ERR_DENIED: read_only is false, but the directory belongs to another user.
 * The other errors are those of tsdb_open(). Call database_close() in any case.
 */
NODISCARD int database_open(struct database *d, const char *path,
			    bool read_only, struct err *err);

/* Close the database and free what database_open() has made. */
void database_close(struct database *d);

#endif
