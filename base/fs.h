/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directories and names: rename, link, remove, list, sync. Tests inject faults by
 * struct fs, as into files.
 *
 * Ownership: name_list_fini() frees a list.
 * Threads: any.
 */
#ifndef BASE_FS_H
#define BASE_FS_H

#include "base/file.h"

/* Names. A change is durable after fs_sync_dir() on the directory. */
NODISCARD int fs_rename(struct fs *fs, const char *from, const char *to,
			struct err *err);

NODISCARD int fs_link(struct fs *fs, const char *from, const char *to,
		      struct err *err);

NODISCARD int fs_unlink(struct fs *fs, const char *path, struct err *err);

NODISCARD int fs_mkdir(struct fs *fs, const char *path, struct err *err);

NODISCARD int fs_sync_dir(struct fs *fs, const char *path, struct err *err);

/*
 * Put b into the file `path` by way of the file tmp, so that a reader finds
 * the old bytes or the new ones. Durable after fs_sync_dir().
 */
NODISCARD int file_replace(struct fs *fs, const char *tmp, const char *path,
			   struct bytes b, struct err *err);

/* Bytes of the file system that holds path, and how many of them are free. */
NODISCARD int fs_space(const char *path, uint64_t *total, uint64_t *available,
		       struct err *err);

/* Bytes of the file at path. */
NODISCARD int fs_size(struct fs *fs, const char *path, uint64_t *out,
		      struct err *err);

/* Remove a directory and everything in it; no links are followed. */
NODISCARD int fs_remove_dir(struct fs *fs, const char *path, struct err *err);

NODISCARD int fs_list(struct fs *fs, const char *path, struct name_list *out,
		      struct err *err);

void name_list_fini(struct name_list *l);

#endif
