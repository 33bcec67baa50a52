/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trash: a list of directories that must be removed. The removal is retried
 * until every directory is gone (docs/decisions.md, 22). Otherwise a head whose
 * removal failed would reappear at the next startup, even after the block that
 * was made from it has been removed. trash_rename_aside() handles the opposite case:
 * files that cannot be read and must be kept.
 *
 * Ownership: trash_fini() frees the list; paths are copied.
 * Threads: one thread at a time.
 */
#ifndef TSDB_IO_TRASH_H
#define TSDB_IO_TRASH_H

#include "base/file.h"

struct trash_dir;

/*
 * A list of directories to be removed. To initialise it, set fs and leave
 * everything else zero.
 */
struct trash {
	struct fs *fs;
	struct trash_dir *v;
	size_t count;
	size_t cap;
};

/*
 * Add the directory at path. trash_empty() renames it to <path><suffix>, a name
 * that startup ignores, before it removes the directory's files.
 */
void trash_add(struct trash *t, const char *path, const char *suffix);

/*
 * Add a directory that has been renamed durably already, so that startup
 * ignores it and only its files are left to remove.
 */
void trash_add_hidden(struct trash *t, const char *path);

/*
 * Rename all listed directories, durably, then remove them with their files.
 * ERR_IO and other errors: a rename failed; the list is kept, and the caller
 * must not yet remove anything that was made from these directories. It is no
 * error if a renamed directory cannot be removed: startup ignores it, and it
 * stays in the list for the next call.
 */
NODISCARD int trash_empty(struct trash *t, struct err *err);

/* Free the list. Directories that are still in it stay on disk. */
void trash_fini(struct trash *t);

/*
 * Suffixes of files and directories that are set aside: something in them is
 * damaged, or the disk could not read it.
 */
#define ASIDE_DAMAGED ".damaged"
#define ASIDE_UNREAD  ".unread"

/*
 * Rename a directory or file, durably, to <path><suffix>, or to
 * <path><suffix>-2, -3, … if that name is taken. ERR_EXISTS: too many names are
 * taken. Otherwise the error of the rename or of the directory's fsync.
 */
NODISCARD int trash_rename_aside(struct fs *fs, const char *path,
				 const char *suffix, struct err *err);

/* Whether a name is that of something that was set aside. */
bool trash_is_aside_name(const char *name);

#endif
