/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trash: directories that have to go. What a failure leaves of them is tried
 * again, for a range whose block is gone too would come back at a start. And
 * what cannot be read, and must not go: it is set aside for a person to look at.
 *
 * Ownership: trash_fini() frees; paths are copied or taken over as noted.
 * Threads: one thread at a time.
 */
#ifndef TSDB_IO_TRASH_H
#define TSDB_IO_TRASH_H

#include "base/file.h"

struct trash_dir;

/* The zero value but for fs is empty. */
struct trash {
	struct fs *fs;
	struct trash_dir *v;
	size_t count;
	size_t cap;
};

/* Have parent/name removed, by way of parent/name<suffix>. */
void trash_add(struct trash *t, const char *path, const char *suffix);

/* The same of a directory that was renamed before: a start does not see it. */
void trash_add_hidden(struct trash *t, const char *path);

/*
 * Rename what is in it, durably; then remove the bytes. On failure the rest
 * stays in it: nothing that came of it may be removed before. Bytes that the
 * disk does not let go are harmless, and stay in it for the next time.
 */
NODISCARD int trash_empty(struct trash *t, struct err *err);

void trash_fini(struct trash *t);

#define ASIDE_SUFFIX ".damaged"

/*
 * Rename a directory or file, durably, to <path>.damaged; where something was
 * set aside under that name before, to <path>.damaged-2 …
 */
NODISCARD int rename_aside(struct fs *fs, const char *path, struct err *err);

#endif
