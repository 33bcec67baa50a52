/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Public opener: opens files that everyone may read, at paths that strangers
 * have chosen, in a process that can be abandoned. To look up a path can take
 * for ever: a user can keep a directory locked for as long as his own FUSE
 * server does not answer (docs/decisions.md, 201). A thread of everprof that
 * waited for such a path itself could not be ended.
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

/* Be the process that opens the files. Returns the status for exit(). */
int public_opener_serve(void);

/*
 * Return the number to pass to file_helper_set_user() as the user when the file
 * at `path` is read. Nobody knows who chose the path, so the number is a hash
 * of the folder: helpers that wait for ever are counted for the folder. The
 * number is never 0, because 0 stands for root.
 */
uint32_t public_opener_share(const char *path);

/*
 * Open the file at `path` as regular_file_open_public() does, in the helper
 * `h`, whose program calls public_opener_serve(). Returns -1 also if opening
 * takes longer than PUBLIC_OPENER_TIMEOUT_MS, and if too many helpers wait for
 * ever for files of the same folder, or of all folders together
 * (file_helper_set_user()).
 */
int public_opener_open(struct file_helper *h, const char *path);

#endif
