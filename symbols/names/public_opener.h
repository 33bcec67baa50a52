/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Public opener: opens files that everyone may read, at paths that strangers have
 * chosen, in a process that can be abandoned. To walk a path can wait for ever: a
 * user can keep a directory locked while a FUSE server of his owes an answer
 * (docs/decisions.md, 201). A thread of this process could not be ended then.
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
 * To whose share helpers count that a file at a path makes wait for ever, as for
 * file_helper_set_user(): that of its folder, and not root's.
 */
uint32_t public_opener_share(const char *path);

/*
 * Open a path as regular_file_open_public() does, by a helper that calls
 * public_opener_serve(). Returns -1 also if it takes too long. Helpers that wait
 * for ever count to the folder of the path: no other of its files is opened then,
 * but those of other folders are.
 */
int public_opener_open(struct file_helper *h, const char *path);

#endif
