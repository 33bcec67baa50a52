/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ad-hoc store: files with profiles that somebody has uploaded to look at. They are no
 * series, and in no block: each file is a folder of `adhoc/` in the data directory
 * (docs/format/adhoc.md), and goes after some time, or when newer ones need the room.
 *
 * A file whose time is over is not shown any more. It is removed by a clock that is trusted
 * (base/trusted_clock.h): a wrong clock removes nothing.
 *
 * Ownership: the caller closes a store; options are borrowed.
 * Threads: any.
 */
#ifndef ADHOC_ADHOC_STORE_H
#define ADHOC_ADHOC_STORE_H

#include "adhoc/adhoc_meta.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/ingest_limiter.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/metrics.h"

/* A store. */
struct adhoc_store;

/* Options; everything is borrowed. */
struct adhoc_options {
	const char *dir;    /* made with the first file */
	int64_t max_bytes;  /* of all files, on disk */
	int64_t ttl_ms;     /* how long a file is there that nobody keeps */
	size_t max_profile; /* bytes of a profile, decompressed */
	struct ingest_limiter *limiter;
	const struct clock *clock; /* NULL: the time of day */
	/* See trusted_clock_advance(). */
	int64_t clock_steady_ms;
	const struct log *log;
	struct metrics *metrics;
	struct fs *fs; /* NULL: without hooks */
};

/* Who wants to change a file: it is theirs, or they may change all. */
struct adhoc_user {
	struct str name;
	bool may_all;
};

/* A file in a list, without its profiles. */
struct adhoc_entry {
	char id[ADHOC_ID_LEN + 1];
	const char *name;
	const char *user;
	int64_t uploaded_ms;
	int64_t expires_ms;
	bool is_kept;
	uint64_t bytes; /* on disk */
};

/* Largest time for which a file is kept on request, in ms. */
#define ADHOC_KEEP_MAX_MS (30 * INT64_C(86400000))

/*
 * Open the store of a folder, which need not exist. What an upload has left that did not
 * end is removed; a file that is damaged is logged and left alone. Errors of listing the
 * folder.
 */
NODISCARD int adhoc_store_open(const struct adhoc_options *o,
			       struct adhoc_store **out, struct err *err);

/* Close it. NULL is a no-op. */
void adhoc_store_close(struct adhoc_store *s);

/* Return the options that it was opened with. */
const struct adhoc_options *adhoc_store_options(const struct adhoc_store *s);

/*
 * Call fn(ctx, …) for each file, the latest one first. The store is locked: fn must not
 * wait, and must not call the store.
 */
void adhoc_store_each(struct adhoc_store *s,
		      void (*fn)(void *ctx, const struct adhoc_entry *e),
		      void *ctx);

/*
 * Find a file. ERR_NOTFOUND: there is none, perhaps no longer; errors of reading. The
 * texts of *out are in the arena.
 */
NODISCARD int adhoc_store_find(struct adhoc_store *s, struct str id,
			       struct arena *arena, struct adhoc_meta *out,
			       struct err *err);

/* A profile of a file. */
struct adhoc_profile {
	struct adhoc_meta meta; /* of the file */
	size_t part;            /* its number */
	struct buf raw; /* decompressed; the caller frees it in any case */
};

/*
 * Read a profile of a file; `ref` is ID or ID/PART. The memory for it is taken from
 * `limits` first, and stays taken. Errors as for adhoc_store_find(); ERR_INVALID: the file
 * has no such part; ERR_CORRUPT: it is damaged.
 */
NODISCARD int adhoc_store_read(struct adhoc_store *s, struct str ref,
			       const struct limits *limits, struct arena *arena,
			       struct adhoc_profile *out, struct err *err);

/*
 * Keep a file for at least some time from now on. Errors as for adhoc_store_find();
 * ERR_DENIED: it is another user's.
 */
NODISCARD int adhoc_store_keep(struct adhoc_store *s, struct str id,
			       const struct adhoc_user *who, int64_t keep_ms,
			       struct err *err);

/* Remove a file. Errors as for adhoc_store_keep(). */
NODISCARD int adhoc_store_remove(struct adhoc_store *s, struct str id,
				 const struct adhoc_user *who, struct err *err);

/* The following is for adhoc_upload.c. */

/* The name of a folder begins so while it is written or removed. */
#define ADHOC_TEMPORARY "tmp-"

/* Room for the name of a profile's file. */
#define ADHOC_PART_NAME 40

/*
 * Count so many bytes more of a file that then has `all`, if they would have room without
 * the files that nobody keeps; those go with adhoc_store_make_room(). ERR_TOOBIG: `all` is
 * more than all files may have; ERR_NOSPACE: the others are kept. The caller returns the
 * room by adhoc_store_release(), or passes it to adhoc_store_add().
 */
NODISCARD int adhoc_store_reserve(struct adhoc_store *s, uint64_t bytes,
				  uint64_t all, struct err *err);
void adhoc_store_release(struct adhoc_store *s, uint64_t bytes);

/*
 * Make room for a file that is complete and whose bytes are reserved, by removing files
 * that are not kept, those first that were not used for the longest time. ERR_NOSPACE: the
 * others are kept; then none is removed. Errors of the disk.
 */
NODISCARD int adhoc_store_make_room(struct adhoc_store *s, struct err *err);

/* Add a file whose folder is complete and durable; `bytes` were reserved. */
void adhoc_store_add(struct adhoc_store *s, const struct adhoc_meta *m,
		     uint64_t bytes);

/* Return the path of a file's folder, or of a file in it; the caller frees it. */
char *adhoc_store_path(const struct adhoc_store *s, const char *id,
		       const char *name);

/* Write the name that the file of a profile has in its folder. */
void adhoc_store_part_name(size_t part, char out[ADHOC_PART_NAME]);

/* How much room a file of so many bytes takes on disk. */
uint64_t adhoc_store_room(uint64_t bytes);

#endif
