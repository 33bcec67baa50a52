/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data directory: tell the directory of a database from any other.
 *
 * Ownership: nothing is kept.
 * Threads: any.
 */
#ifndef TSDB_ENGINE_DATA_DIR_H
#define TSDB_ENGINE_DATA_DIR_H

#include "base/file.h"

/*
 * Whether a directory is that of a database: ERR_NOTFOUND: it is not there;
 * ERR_INVALID: it holds something else, or, unless `or_empty`, nothing.
 */
NODISCARD int tsdb_check_dir(struct fs *fs, const char *path, bool or_empty,
			     struct err *err);

#endif
