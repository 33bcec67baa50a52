/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verification reads every byte of a data directory and checks it; a server may
 * be running on it meanwhile.
 *
 * Ownership: keeps nothing.
 * Threads: one thread for each call.
 */
#ifndef TSDB_VERIFY_H
#define TSDB_VERIFY_H

#include "base/err.h"
#include "base/log.h"
#include "tsdb/io/ulid.h"

struct codec;

/* The input and the results of a verification. */
struct verify {
	/* Called for each problem; path is the file or directory. */
	void (*found)(void *ctx, const char *path, const char *what);
	void *ctx;
	/* For messages of the code that reads logs; may be NULL. */
	const struct log *log;
	const struct codec *columns; /* as in struct tsdb_options */

	/* Results, added to by each call. */
	uint64_t blocks;
	uint64_t heads;
	uint64_t segments;
	uint64_t profiles; /* decoded, with their hashes verified */
	uint64_t bytes;
	uint64_t problems;
};

struct block;

/*
 * Verifies a block that is already open. Problems are reported and counted in
 * *v.
 */
void verify_open_block(struct verify *v, struct block *b);

/*
 * Verifies the database in dir. Problems are reported and counted in *v and are
 * no error. ERR_NOTFOUND, ERR_IO, ERR_INVALID: the directory cannot be read, or
 * is no data directory.
 */
NODISCARD int tsdb_verify(const char *dir, struct verify *v, struct err *err);

#endif
