/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Public opener: opens files that everyone may read, at paths that strangers
 * have chosen, in a process that can be abandoned. To look up a path can take
 * for ever: a user can keep a directory locked while a FUSE server of his owes
 * an answer (docs/decisions.md, 201). If a thread of everprof itself waited for
 * that, it could not be ended.
 *
 * Ownership: as symbols/helper/file_helper.h; the caller closes descriptors.
 * Threads: one thread at a time.
 */
#ifndef SYMBOLS_NAMES_PUBLIC_OPENER_H
#define SYMBOLS_NAMES_PUBLIC_OPENER_H

#include "symbols/helper/file_helper.h"

enum {
	/* How long one path may take. */
	PUBLIC_OPENER_TIMEOUT_MS = 1000,
};

/* Be the helper. Returns the status for exit(). */
int public_opener_serve(void);

/*
 * Return the user, for file_helper_set_user(), for whom helpers are counted
 * that wait for ever for the file at a path. It is a number that stands for the
 * folder of the path, and never root.
 */
uint32_t public_opener_share(const char *path);

/*
 * Open a path as regular_file_open_public() does, by a helper that calls
 * public_opener_serve(). Returns -1 also if it takes too long. Helpers that
 * wait for ever are counted for the folder of the path. If a folder has too
 * many, no more of its files are opened, but those of other folders are.
 */
int public_opener_open(struct file_helper *h, const char *path);

#endif
