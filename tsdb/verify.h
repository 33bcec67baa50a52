/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verify: read every byte of a data directory, beside a running server too.
 *
 * Ownership: keeps nothing.
 * Threads: one thread a call.
 */
#ifndef TSDB_VERIFY_H
#define TSDB_VERIFY_H

#include "base/err.h"
#include "base/log.h"
#include "tsdb/io/ulid.h"

struct codec;

struct verify {
	/* Told of each thing that is not as it was written. */
	void (*found)(void *ctx, const char *path, const char *what);
	void *ctx;
	const struct log *log; /* for what reading logs tells; may be NULL */
	const struct codec *columns; /* as in struct tsdb_options */

	/* Results. */
	uint64_t blocks;
	uint64_t heads;
	uint64_t segments;
	uint64_t profiles; /* decoded, their hashes compared */
	uint64_t bytes;
	uint64_t problems;
};

struct block;

/* The same of one block that is open. */
void verify_open_block(struct verify *v, struct block *b);

/* ERR_NOTFOUND, ERR_IO: the directory cannot be read at all. */
NODISCARD int tsdb_verify(const char *dir, struct verify *v, struct err *err);

#endif
