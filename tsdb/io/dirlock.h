/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lock on a data directory, so that only one process writes to it. It uses
 * flock() on the directory itself and on its file `lock`, which holds the
 * process id.
 *
 * Ownership: dirlock_release() releases the lock and frees the struct; if the
 * process dies, the kernel releases the lock.
 * Threads: one thread per lock.
 */
#ifndef TSDB_IO_DIRLOCK_H
#define TSDB_IO_DIRLOCK_H

#include "base/err.h"

struct dirlock;

/*
 * Lock the directory dir, which must exist. The caller owns *out. ERR_BUSY:
 * another process holds the lock; the message names its process id. ERR_IO,
 * ERR_NOTFOUND, ERR_NOSPACE: a file could not be opened or locked.
 */
NODISCARD int dirlock_take(const char *dir, struct dirlock **out,
			   struct err *err);

/* Release the lock and free it. The file `lock` stays. NULL is a no-op. */
void dirlock_release(struct dirlock *l);

/*
 * Whether some process holds the lock on the directory `dir` now. Changes no
 * file. False if the directory cannot be opened.
 */
bool dirlock_is_held(const char *dir);

#endif
