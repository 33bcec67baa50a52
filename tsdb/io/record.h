/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records: the frame around everything that segments and range logs hold, and
 * the header of their files. Format: docs/format/common.md.
 *
 * Ownership: all views are borrowed from the bytes that were parsed.
 * Threads: pure functions.
 */
#ifndef TSDB_IO_RECORD_H
#define TSDB_IO_RECORD_H

#include "base/buf.h"
#include "base/err.h"

enum {
	RECORD_HEADER = 32,
	RECORD_HEAD_MAX = 256 * 1024,
	RECORD_BODY_MAX = 1024 * 1024 * 1024,
	FILE_HEADER = 64, /* two copies of 32 bytes */
};

#define MAGIC_SEGMENT      0x45505753u /* "EPWS" */
#define MAGIC_GROUPS       0x4550474cu /* "EPGL" */
#define MAGIC_VALUES       0x4550564cu /* "EPVL" */
#define MAGIC_BLOCK_VALUES 0x45505642u /* "EPVB" */
#define MAGIC_TOMBSTONES   0x45505453u /* "EPTS" */
#define MAGIC_STATE        0x45505354u /* "EPST" */
#define MAGIC_KEY          0x4550574bu /* "EPWK" */

struct file_header {
	uint32_t magic;
	uint64_t salt;
	uint64_t number;
};

/* A random salt for a file. ERR_IO: the system has no random bytes. */
NODISCARD int salt_make(uint64_t *salt, struct err *err);

void file_header_encode(const struct file_header *h, struct buf *out);

/*
 * ERR_CORRUPT: not such a file, or damaged. ERR_UNSUPPORTED: another version,
 * with advice.
 */
NODISCARD int file_header_decode(struct bytes file, uint32_t magic,
				 struct file_header *out, struct err *err);

struct record {
	uint64_t position;
	uint8_t kind;
	uint8_t encoding;
	struct bytes head;
	struct bytes body;
	bool body_ok; /* its CRC agrees; checked only where asked for */
	uint64_t len; /* padding included */
};

/* Length of a record with these parts, padding included. */
uint64_t record_padded(size_t head_len, size_t body_len);

/* Append a record to out, which is at a multiple of 8, padding included. */
void record_encode(const struct record *r, uint64_t salt, struct buf *out);

/*
 * The record at the start of b, which must be the one at position.
 * ERR_CORRUPT when there is none. body_ok is set when check_body is.
 */
NODISCARD int record_decode(struct bytes b, uint64_t salt, uint64_t position,
			    bool check_body, struct record *out,
			    struct err *err);

/* The same when only the head is at hand: the body is empty. */
NODISCARD int record_decode_head(struct bytes b, uint64_t salt,
				 uint64_t position, struct record *out,
				 struct err *err);

/* What the first RECORD_HEADER bytes say of the head's length, unchecked. */
size_t record_head_len(const uint8_t *header);

/*
 * Iterates over the records of a file's bytes; position = base + offset.
 * damaged is called for each stretch that is no record (not for zeros that
 * only pad), at the end with torn set.
 */
struct record_iter {
	struct bytes file;
	uint64_t salt;
	uint64_t base;
	uint64_t offset; /* of the next try */
	uint64_t end;    /* behind the last whole record */
	void (*damaged)(void *ctx, uint64_t offset, uint64_t len, bool torn);
	void *ctx;
};

/* 1: *out is set; 0: no more. */
int record_next(struct record_iter *it, struct record *out);

#endif
