/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open a head from the files of an earlier run.
 *
 * Ownership: the caller owns the reference it gets.
 * Threads: one thread a head.
 */
#ifndef TSDB_HEAD_HEAD_OPEN_H
#define TSDB_HEAD_HEAD_OPEN_H

#include "tsdb/head/head.h"

/*
 * Fill an empty range from the bytes of its log: what head_open() does, for
 * tests and fuzzers. ERR_CORRUPT, ERR_UNSUPPORTED: the file's header.
 */
NODISCARD int head_load(struct head *r, struct bytes file, struct err *err);

/* Whether the making of its directory was cut short: it holds no profile. */
bool head_is_stillborn(const struct head *r);

/*
 * Read the range in the directory `name`. ERR_NOTFOUND: its making was cut
 * short and it held nothing; it is gone. ERR_CORRUPT: it is damaged as a whole.
 * Stretches of its log that the disk does not give back are told of, counted,
 * and make it `unreadable`.
 */
NODISCARD int head_open(struct head_env *env, const char *name,
			struct head **out, struct err *err);

#endif
