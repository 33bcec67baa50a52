/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a block is: its meta.json (docs/format/block.md).
 *
 * Ownership: meta_fini() frees what it owns. Threads: pure functions.
 */
#ifndef TSDB_BLOCK_META_H
#define TSDB_BLOCK_META_H

#include "base/buf.h"
#include "base/err.h"
#include "tsdb/io/ulid.h"

enum {
	META_BYTES_MAX = 256 * 1024 * 1024,
	META_NAME_MAX = 32,
};

struct meta_file {
	char name[META_NAME_MAX]; /* "index", "chunks/000001", … */
	uint64_t size;
	uint64_t live; /* values files: bytes that groups use */
	uint32_t crc;
};

struct meta_parent {
	struct ulid ulid;
	int64_t min_ms;
	int64_t max_ms;
};

/* The zero value is an empty one. */
struct meta {
	struct ulid ulid;
	int64_t min_ms; /* the window, */
	int64_t max_ms; /* this one not in it */
	uint64_t samples;
	uint64_t series;
	uint64_t chunks;
	uint32_t level;

	struct ulid *sources; /* sorted, each once */
	size_t source_count;
	size_t source_cap;
	struct meta_parent *parents;
	size_t parent_count;
	size_t parent_cap;

	int64_t first_ms; /* of a profile */
	int64_t last_ms;
	uint64_t first_lsn;
	uint64_t last_lsn;
	uint64_t raw_bytes;
	bool columns; /* all groups have been tried as columns */

	struct bytes *typesets; /* encoded, owned */
	size_t typeset_count;
	size_t typeset_cap;
	struct meta_file *files;
	size_t file_count;
	size_t file_cap;
};

void meta_fini(struct meta *m);

void meta_add_source(struct meta *m, const struct ulid *u);
void meta_add_parent(struct meta *m, const struct meta *parent);
struct meta_file *meta_add_file(struct meta *m, const char *name);

/* The number of an equal type set, added if it is new. */
uint32_t meta_typeset(struct meta *m, struct bytes typeset);

/* NULL when there is no such file. */
const struct meta_file *meta_file(const struct meta *m, const char *name);

void meta_encode(const struct meta *m, struct buf *out);

/*
 * ERR_CORRUPT: damaged, or not of everprof. ERR_UNSUPPORTED: written by a
 * later version.
 */
NODISCARD int meta_decode(struct bytes text, struct meta *out, struct err *err);

#endif
