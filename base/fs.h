/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directories and names: rename, link, remove, list, sync. Tests inject faults
 * through struct fs, as they do for files (base/file.h).
 *
 * Ownership: the caller of fs_list() frees the list with name_list_fini().
 * Threads: any.
 * Errors: unless said otherwise, the errors of err_sys(): ERR_NOTFOUND,
 * ERR_EXISTS, ERR_NOSPACE, ERR_IO.
 */
#ifndef BASE_FS_H
#define BASE_FS_H

#include "base/file.h"

/*
 * Rename a file or directory; an existing file named `to` is replaced
 * atomically. The change is durable after fs_sync_dir() on the directory.
 */
NODISCARD int fs_rename(struct fs *fs, const char *from, const char *to,
			struct err *err);

/*
 * Give a file a second name (hard link). Returns ERR_EXISTS when `to` exists.
 * The new name is durable after fs_sync_dir() on the directory of `to`.
 */
NODISCARD int fs_link(struct fs *fs, const char *from, const char *to,
		      struct err *err);

/*
 * Remove the name of a file. The removal is durable after fs_sync_dir() on the
 * directory of the file.
 */
NODISCARD int fs_unlink(struct fs *fs, const char *path, struct err *err);

/*
 * Create a directory with mode 0750. Returns ERR_EXISTS when `path` exists. The
 * directory is durable after fs_sync_dir() on its parent.
 */
NODISCARD int fs_mkdir(struct fs *fs, const char *path, struct err *err);

/* As fs_mkdir(), but it may exist already. */
NODISCARD int fs_add_dir(struct fs *fs, const char *path, struct err *err);

/*
 * Create a directory durably, unless it exists. The parent is synced in either
 * case, because another process may have created the directory and crashed
 * before it synced the parent.
 */
NODISCARD int fs_ensure_dir(struct fs *fs, const char *path, struct err *err);

/* Sync the directory that contains `path`, so that the name is durable. */
NODISCARD int fs_sync_parent(struct fs *fs, const char *path, struct err *err);

/* Make all changes of names in the directory `path` durable (fsync). */
NODISCARD int fs_sync_dir(struct fs *fs, const char *path, struct err *err);

/*
 * Replace the contents of the file `path` by b: write and sync the file `tmp`,
 * then rename it to `path`. Readers, also after a crash, find either the old
 * bytes or the new bytes. The new bytes are durable after fs_sync_dir() on the
 * directory. After an error `tmp` may be left behind.
 */
NODISCARD int file_replace(struct fs *fs, const char *tmp, const char *path,
			   struct bytes b, struct err *err);

/*
 * Store the size of the file system that holds `path`, and the number of bytes
 * available on it to unprivileged users.
 */
NODISCARD int fs_space(const char *path, uint64_t *total, uint64_t *available,
		       struct err *err);

/*
 * Store the size in bytes of the file `path`; symbolic links are not followed.
 */
NODISCARD int fs_size(struct fs *fs, const char *path, uint64_t *out,
		      struct err *err);

/*
 * Remove a directory and everything in it. Symbolic links are removed, not
 * followed, also if `path` is one. After an error a part of the tree may be gone.
 */
NODISCARD int fs_remove_dir(struct fs *fs, const char *path, struct err *err);

/*
 * List the names in a directory, sorted by bytes. The caller frees *out with
 * name_list_fini(); after an error *out is unchanged.
 */
NODISCARD int fs_list(struct fs *fs, const char *path, struct name_list *out,
		      struct err *err);

/* Free the names of a list and make it empty. */
void name_list_fini(struct name_list *l);

#endif
