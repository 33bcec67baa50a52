/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verification reads every byte of a data directory and checks it. A server may
 * use the directory at the same time.
 *
 * Threads: one thread for each call.
 */
#ifndef TSDB_TOOLS_VERIFY_H
#define TSDB_TOOLS_VERIFY_H

#include "base/err.h"
#include "base/log.h"
#include "tsdb/io/ulid.h"

struct codec;

/* The input and the results of a verification. */
struct verify {
	/*
	 * Called for each problem. `path` is the file or directory that has the
	 * problem; `what` describes it.
	 */
	void (*found)(void *ctx, const char *path, const char *what);
	void *ctx;
	/* Log for the code that reads log files; may be NULL. */
	const struct log *log;
	/* The codec for columns, as in struct tsdb_options. */
	const struct codec *columns;

	/* The results are counts; each verification adds to them. */
	uint64_t blocks;
	uint64_t heads;
	uint64_t segments;
	/* Number of profiles whose decoded bytes match their hashes. */
	uint64_t profiles;
	uint64_t bytes;
	uint64_t problems;
};

struct block;

struct head;

/* Verify an open block. Problems are reported and counted in *v. */
void verify_open_block(struct verify *v, struct block *b);

/* Verify the profiles of an open head, as verify_open_block() does. */
void verify_open_head(struct verify *v, struct head *r);

/*
 * Verify the database in the directory `dir`. Problems are reported and
 * counted in *v; they do not make the function fail. Returns ERR_NOTFOUND,
 * ERR_IO or ERR_INVALID when the directory cannot be read or is no data
 * directory.
 */
NODISCARD int tsdb_verify(const char *dir, struct verify *v, struct err *err);

#endif
