/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lock on a data directory: flock on the directory, and on its file `lock`,
 * with our pid inside.
 *
 * Ownership: dirlock_release() frees it; the kernel does when we die.
 * Threads: one thread a lock.
 */
#ifndef TSDB_IO_DIRLOCK_H
#define TSDB_IO_DIRLOCK_H

#include "base/err.h"

struct dirlock;

/* ERR_BUSY names the pid of who has it. */
NODISCARD int dirlock_take(const char *dir, struct dirlock **out,
			   struct err *err);
void dirlock_release(struct dirlock *l);

/* Whether some process has it now. Changes nothing. */
bool dirlock_is_held(const char *dir);

#endif
