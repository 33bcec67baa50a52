/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distinguishes data directories of everprof from other directories. Without
 * this check a wrong path on the command line could add files to somebody's
 * home directory, or remove files there.
 *
 * Threads: any.
 */
#ifndef TSDB_OPEN_DATA_DIR_H
#define TSDB_OPEN_DATA_DIR_H

#include "base/file.h"

/*
 * Return 0 if `path` is the data directory of a database or, with or_empty
 * set, is empty. Returns ERR_NOTFOUND when the directory does not exist,
 * ERR_INVALID when it contains something else, or is empty without or_empty,
 * and ERR_IO when it cannot be listed.
 */
NODISCARD int tsdb_check_dir(struct fs *fs, const char *path, bool or_empty,
			     struct err *err);

/*
 * Whether a process has written to the directory before: it has a lock file. A
 * snapshot has none. To be asked before the lock is taken.
 */
bool tsdb_dir_was_used(struct fs *fs, const char *path);

/*
 * Whether the directory may have profiles outside of blocks: it was used before, or has
 * a WAL or head blocks. To be asked before anything is written.
 */
bool tsdb_dir_may_have_heads(struct fs *fs, const char *path);

#endif
