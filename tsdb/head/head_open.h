/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening of an existing head, when the database is opened.
 *
 * Ownership: the caller owns the head that head_open() returns.
 * Threads: one thread per head.
 */
#ifndef TSDB_HEAD_HEAD_OPEN_H
#define TSDB_HEAD_HEAD_OPEN_H

#include "tsdb/head/head.h"

/*
 * Fill an empty head from the bytes of its log: the parsing part of
 * head_open(), which tests and fuzzers call too. Damaged records are logged,
 * counted and skipped. ERR_CORRUPT: the file header is damaged.
 * ERR_UNSUPPORTED: the file header is of another version.
 */
NODISCARD int head_load(struct head *r, struct bytes file, struct err *err);

/*
 * Open the head in the directory `name` and cut off torn ends (records and
 * values cut short by a crash), unless the database is read-only. The caller
 * owns *out. ERR_NOTFOUND: `name` is not the name of a head, or the creation of
 * the head was cut short and its directory, which had no profiles, has been
 * removed. ERR_CORRUPT: the head is so damaged that nothing of it can be used.
 * ERR_IO: the header of its log, or all of it, could not be read. If the disk
 * cannot read some bytes of the log, this is logged and counted, and the head's
 * member `unreadable` is set: then nothing is cut off, and nothing may be written.
 */
NODISCARD int head_open(struct head_env *env, const char *name,
			struct head **out, struct err *err);

#endif
