/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ad-hoc upload: writes a file of the ad-hoc store, profile by profile. Until it is
 * committed, its folder has a temporary name, and nobody sees it.
 *
 * Ownership: adhoc_upload_free() frees an upload, and removes what was not committed.
 * Threads: one thread per upload.
 */
#ifndef ADHOC_ADHOC_UPLOAD_H
#define ADHOC_ADHOC_UPLOAD_H

#include "adhoc/adhoc_store.h"

/* An upload. */
struct adhoc_upload;

/* Begin an upload; never fails. */
struct adhoc_upload *adhoc_upload_new(struct adhoc_store *s);

/*
 * Write a profile, which is `size` bytes decompressed; `packed` is a gzip stream. Errors
 * as for adhoc_store_reserve(), and of writing; ERR_TOOBIG: there are more than
 * ADHOC_PARTS_MAX.
 */
NODISCARD int adhoc_upload_add(struct adhoc_upload *u, struct str name,
			       const struct typeset *types, size_t size,
			       struct bytes packed, struct err *err);

/* Return how many profiles were written. */
size_t adhoc_upload_count(const struct adhoc_upload *u);

/*
 * Make the file durable, and show it to all. name, user, format and note of *m are the
 * caller's; the rest is set, and is valid until the upload is freed.
 */
NODISCARD int adhoc_upload_commit(struct adhoc_upload *u, struct adhoc_meta *m,
				  struct err *err);

/* Free it. NULL is a no-op. */
void adhoc_upload_free(struct adhoc_upload *u);

#endif
