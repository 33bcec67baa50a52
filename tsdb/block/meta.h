/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Content of a block's meta.json: what the block is and which files it has
 * (docs/format/block.md).
 *
 * Ownership: meta_fini() frees what a struct meta owns.
 * Threads: pure functions.
 */
#ifndef TSDB_BLOCK_META_H
#define TSDB_BLOCK_META_H

#include "base/buf.h"
#include "base/err.h"
#include "tsdb/io/ulid.h"

/* Limits in bytes: of meta.json, and of a file's name with its NUL. */
enum {
	META_BYTES_MAX = 256 * 1024 * 1024,
	META_NAME_MAX = 32,
};

/* A file of the block. */
struct meta_file {
	char name[META_NAME_MAX]; /* "index", "chunks/000001", … */
	uint64_t size;
	uint64_t live; /* values files: bytes that chunks and tables use */
	/* CRC32C of the whole file. */
	uint32_t crc;
};

/* A block that this block was compacted from. */
struct meta_parent {
	struct ulid ulid;
	int64_t min_ms;
	int64_t max_ms;
};

/* The content of meta.json. The zero value is empty. */
struct meta {
	struct ulid ulid;
	int64_t min_ms; /* start of the block's time range, inclusive */
	int64_t max_ms; /* end of the block's time range, exclusive */
	/* Profiles, series and chunks in the block. */
	uint64_t samples;
	uint64_t series;
	uint64_t chunks;
	uint32_t level; /* compaction level; a sealed head has level 1 */

	/*
	 * Ids of the sealed heads that the block was made from; sorted,
	 * distinct.
	 */
	struct ulid *sources;
	size_t source_count;
	size_t source_cap;
	struct meta_parent *parents;
	size_t parent_count;
	size_t parent_cap;

	int64_t first_ms; /* times of the first and last profile */
	int64_t last_ms;
	/*
	 * First and last LSN of the WAL records that the block accounts for:
	 * every record between them with a time in the range of the block is
	 * treated as stored.
	 */
	uint64_t first_lsn;
	uint64_t last_lsn;
	uint64_t raw_bytes; /* uncompressed size of all profiles */
	bool columns;       /* the columns codec was tried on every chunk */
	bool some_columns;  /* chunks may be stored by the columns codec */
	/*
	 * The disk could not read all of the heads and blocks that it was made
	 * from: those that are still there are set aside, and not removed.
	 */
	bool incomplete;

	/*
	 * The names of text labels that samples may have, which may be any bytes,
	 * owned; false: they may have any label.
	 */
	bool has_sample_labels;
	struct bytes *sample_labels;
	size_t sample_label_count;
	size_t sample_label_cap;

	struct bytes *typesets; /* encoded type sets by number, owned */
	size_t typeset_count;
	size_t typeset_cap;
	struct meta_file *files;
	size_t file_count;
	size_t file_cap;
};

/* Free the arrays and reset *m to zero. */
void meta_fini(struct meta *m);

/* Add the id of a source, unless it is in the list. */
void meta_add_source(struct meta *m, const struct ulid *u);

/* Add the id and the time range of a parent. */
void meta_add_parent(struct meta *m, const struct meta *parent);

/*
 * Add a file; the caller sets its size and checksum. The result is valid until
 * the next call. Names longer than the limit are cut.
 */
struct meta_file *meta_add_file(struct meta *m, const char *name);

/*
 * Return the number of the type set that is equal to `typeset`. If there is
 * none, add a copy of `typeset` first.
 */
uint32_t meta_typeset(struct meta *m, struct bytes typeset);

/* Add a copy of the name of a label that samples may have. */
void meta_add_sample_label(struct meta *m, struct str name);

/* The file with this name, borrowed; NULL if there is none. */
const struct meta_file *meta_file(const struct meta *m, const char *name);

/*
 * Append the text of meta.json to *out; the last value is a checksum of all
 * text before it.
 */
void meta_encode(const struct meta *m, struct buf *out);

/*
 * Decode the text of meta.json. The caller frees *out with meta_fini().
 * ERR_CORRUPT: damaged, or not of an everprof block. ERR_UNSUPPORTED: written
 * by a later version.
 */
NODISCARD int meta_decode(struct bytes text, struct meta *out, struct err *err);

/*
 * Return the log message for a damaged or missing file of a block. `name` is
 * the name of the file, and `rc` says what is wrong with it: ERR_NOTFOUND,
 * ERR_CORRUPT or ERR_IO.
 */
const char *meta_file_trouble(const char *name, int rc);

#endif
