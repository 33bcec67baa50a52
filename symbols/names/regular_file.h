/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regular file: opens paths that strangers have chosen. To open a device or a
 * pseudo file can have an effect (a watchdog is armed, a tape rewinds, a line
 * of the kernel's log is taken away), so a path is looked at before it is
 * opened: only regular files of real file systems are.
 *
 * Ownership: the caller closes the descriptors.
 * Threads: any.
 */
#ifndef SYMBOLS_NAMES_REGULAR_FILE_H
#define SYMBOLS_NAMES_REGULAR_FILE_H

#include <stdbool.h>

/*
 * Open for reading the file that `place`, a descriptor of O_PATH, refers to.
 * Returns -1 if it is no regular file of a real file system, or cannot be
 * opened. `place` stays open.
 */
int regular_file_reopen(int place);

/*
 * Whether an access control list decides about the file that `place`, a descriptor
 * of O_PATH, refers to, or nobody knows. It may deny what the mode allows: the
 * group's bits of the mode are the mask of the list.
 */
bool regular_file_has_list(int place);

/* Open a path as regular_file_reopen() does. Links are followed. */
int regular_file_open(const char *path);

/*
 * Open a path as regular_file_open() does, if everyone may read the file: for
 * answers that say what is in it. Its real path must lead through directories
 * that everyone may search. Files and directories of the user that runs
 * everprof, unless that is root, count as well.
 */
int regular_file_open_public(const char *path);

#endif
