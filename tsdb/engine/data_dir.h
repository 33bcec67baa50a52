/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells the data directory of a database from any other directory, lest a wrong
 * path on the command line fill or clean somebody's home.
 *
 * Ownership: keeps nothing.
 * Threads: any.
 */
#ifndef TSDB_ENGINE_DATA_DIR_H
#define TSDB_ENGINE_DATA_DIR_H

#include "base/file.h"

/*
 * Returns 0 if `path` is the data directory of a database or, with or_empty
 * set, is empty. ERR_NOTFOUND: it does not exist. ERR_INVALID: it contains
 * something else, or is empty without or_empty. ERR_IO: it cannot be listed.
 */
NODISCARD int tsdb_check_dir(struct fs *fs, const char *path, bool or_empty,
			     struct err *err);

#endif
