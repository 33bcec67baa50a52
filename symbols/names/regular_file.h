/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regular file: opens paths that strangers have chosen. To open or read a
 * device or a pseudo file can have an effect (a watchdog is armed, a tape
 * rewinds, a line of the kernel's log is taken away), so a path is checked
 * before it is opened. Only regular files of real file systems are opened, not
 * those of virtual ones such as /proc.
 *
 * Ownership: the caller closes the descriptors.
 * Threads: any.
 */
#ifndef SYMBOLS_NAMES_REGULAR_FILE_H
#define SYMBOLS_NAMES_REGULAR_FILE_H

#include <stdbool.h>

/*
 * Open the file of `place`, a descriptor of O_PATH, for reading. Returns -1 if
 * the file is no regular file of a real file system, or cannot be opened.
 * `place` stays open.
 */
int regular_file_reopen(int place);

/*
 * Whether the file of `place`, a descriptor of O_PATH, has a POSIX access
 * control list. Also true if this cannot be determined. A list may deny
 * what the mode seems to allow: with a list, the group's bits of the mode are
 * the mask of the list, and not the rights of the group.
 */
bool regular_file_has_list(int place);

/*
 * Open the file at `path` as regular_file_reopen() does. Symbolic links are
 * followed.
 */
int regular_file_open(const char *path);

/*
 * Open the file at `path` as regular_file_open() does, but only if everyone may
 * read the file. Use this function for files whose content is shown to other
 * users. The file must have no access control list, and its path, in which
 * symbolic links have been resolved, must lead through directories that
 * everyone may search. A file or directory that belongs to the user who runs
 * everprof is allowed, too, unless this user is root.
 */
int regular_file_open_public(const char *path);

#endif
