/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats of records and of the file header. WAL segments and the logs of heads
 * consist of records. These and other files begin with a file header. Format:
 * docs/format/common.md.
 *
 * Ownership: decoded records borrow from the bytes that were parsed.
 * Threads: any; the functions are pure, except record_make_salt().
 */
#ifndef TSDB_IO_RECORD_H
#define TSDB_IO_RECORD_H

#include "base/buf.h"
#include "base/err.h"

enum {
	/*
	 * Lengths in bytes of a record's header, of the largest head and body
	 * of a record, and of the header of a file.
	 */
	RECORD_HEADER = 32,
	RECORD_HEAD_MAX = 256 * 1024,
	RECORD_BODY_MAX = 1024 * 1024 * 1024,
	FILE_HEADER = 64, /* file header: two copies of 32 bytes */
};

/* The first four bytes of each kind of file. */
#define MAGIC_SEGMENT       0x45505753u /* "EPWS" */
#define MAGIC_GROUPS        0x4550474cu /* "EPGL" */
#define MAGIC_VALUES        0x4550564cu /* "EPVL" */
#define MAGIC_BLOCK_VALUES  0x45505642u /* "EPVB" */
#define MAGIC_TOMBSTONES    0x45505453u /* "EPTS" */
#define MAGIC_STATE         0x45505354u /* "EPST" */
#define MAGIC_SAMPLE_LABELS 0x4550534cu /* "EPSL" */
#define MAGIC_KEY           0x4550574bu /* "EPWK" */
#define MAGIC_NUMBERS       0x4550574eu /* "EPWN" */

/*
 * Header of a file. The salt is a number that is random or derived from the WAL
 * key. The checksum of each record includes the salt, so that a record of
 * another file is not mistaken for a record of this file. The meaning of
 * `number` depends on the kind of file: for example, a segment's number or the
 * start of a head's window.
 */
struct file_header {
	uint32_t magic;
	uint64_t salt;
	uint64_t number;
	uint32_t extra; /* what the kind of file says; otherwise 0 */
};

/* Make a random salt for a file. ERR_IO: the system has no random bytes. */
NODISCARD int record_make_salt(uint64_t *salt, struct err *err);

/* Append both copies of the header, FILE_HEADER bytes, to `out`. */
void file_header_encode(const struct file_header *h, struct buf *out);

/*
 * Decode the header from `file`, the first bytes of a file; one intact copy is
 * enough. ERR_CORRUPT: there are too few bytes, the file is of another kind, or
 * both copies are damaged. ERR_UNSUPPORTED: written by a newer version; the
 * message says what to do.
 */
NODISCARD int file_header_decode(struct bytes file, uint32_t magic,
				 struct file_header *out, struct err *err);

/*
 * A record: a small head with metadata (unrelated to head blocks), and an
 * optional body. Head and body have separate CRC32Cs, so that the head can be
 * read without the body.
 */
struct record {
	/*
	 * Position of the record: an LSN in a WAL segment, a file offset
	 * elsewhere.
	 */
	uint64_t position;
	uint8_t kind;
	uint8_t encoding;
	struct bytes head;
	struct bytes body;
	bool body_ok; /* the body's checksum was verified and agrees */
	uint64_t len; /* length in bytes, padding included */
};

/* Largest number of bytes of padding after a record. */
#define RECORD_PADDING_MAX 7

/*
 * Length in bytes of a record with a head and body of these lengths, with the
 * padding to a multiple of 8.
 */
uint64_t record_padded(size_t head_len, size_t body_len);

/*
 * Append a record and its padding to `out`, whose length must be a multiple of
 * 8. `len` and `body_ok` of *r are not used.
 */
void record_encode(const struct record *r, uint64_t salt, struct buf *out);

/*
 * Decode the record at the start of `b`. `position` is the record's position; a
 * record that was written for another position is not accepted. If `check_body`
 * is set, out->body_ok says whether the body's checksum agrees; a mismatch is
 * not returned as an error. ERR_CORRUPT: there is no record at the start of
 * `b`, the record is incomplete, or its head is damaged.
 */
NODISCARD int record_decode(struct bytes b, uint64_t salt, uint64_t position,
			    bool check_body, struct record *out,
			    struct err *err);

/*
 * Decode a record without its body: `b` needs to have only the header and the
 * head. In *out the body is empty. ERR_CORRUPT as for record_decode().
 */
NODISCARD int record_decode_head(struct bytes b, uint64_t salt,
				 uint64_t position, struct record *out,
				 struct err *err);

/*
 * Length of the head according to a record's first RECORD_HEADER bytes. These
 * bytes are not verified, so the caller must compare the length with
 * RECORD_HEAD_MAX.
 */
size_t record_head_len(const uint8_t *header);

/*
 * Iterator over the records in a file's bytes; the position of a record is
 * `base` + its offset. After damage the iterator searches for the next complete
 * record in steps of 8 bytes. The callback `damaged` (may be NULL) is called
 * for each range of bytes that is not a record, unless all its bytes are zero.
 * Its argument `torn` is true at the end of the file, where the cause usually
 * is an interrupted write.
 */
struct record_iter {
	struct bytes file;
	uint64_t salt;
	uint64_t base;
	uint64_t offset; /* offset where the next search begins */
	uint64_t end;    /* offset after the last complete record */
	void (*damaged)(void *ctx, uint64_t offset, uint64_t len, bool torn);
	void *ctx;
};

/*
 * Find the next record: returns 1 and sets *out, or 0 at the end. The body is
 * checked; the caller must look at out->body_ok.
 */
int record_next(struct record_iter *it, struct record *out);

#endif
