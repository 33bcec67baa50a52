/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Block: the profiles of a span of time in files that never change, except the
 * file of tombstones. Format: docs/format/block.md.
 *
 * Ownership: reference counted; its files may be unlinked while it is open.
 * Threads: any.
 */
#ifndef TSDB_BLOCK_BLOCK_H
#define TSDB_BLOCK_BLOCK_H

#include "base/log.h"
#include "base/metrics.h"
#include "base/mutex.h"
#include "tsdb/block/known_labels.h"
#include "tsdb/block/meta.h"
#include "tsdb/block/tombstones.h"
#include "tsdb/chunk/tables.h"
#include "tsdb/head/head.h"
#include "tsdb/index/index.h"

/*
 * CHUNK_HEADER is the length of a chunk file's header in bytes. CHUNK_GROUP is
 * an encoding byte, which is stored before the data of each chunk and says how
 * the data is encoded.
 */
enum {
	CHUNK_HEADER = 8,
	/* The data is chunk metadata. */
	CHUNK_GROUP = 0x70,
};

/* The first four bytes of a chunk file. */
#define CHUNK_MAGIC 0x85BD40DDu

/* The state that all blocks of a database share. It outlives the blocks. */
struct block_env {
	struct fs *fs;
	const char *dir; /* data directory */
	const struct log *log;
	struct metric *corruptions;
	/* The columns codec, tried before zstd; NULL: zstd only. */
	const struct codec *columns;
	struct tables *tables; /* cache of dictionary tables; NULL: no cache */
	/* NULL: nobody knows which labels samples have. */
	struct known_labels *known_labels;
};

/* An open block. Everything but the tombstones is immutable. */
struct block {
	_Atomic uint32_t refs;
	const struct block_env *env;
	char *path;
	struct meta meta;
	struct index *index;
	/* Chunk files; NULL: the file could not be opened. */
	struct blob **chunks;
	size_t chunk_count;
	/*
	 * Values files: file number n is values[n - 1]. NULL: the file could
	 * not be opened.
	 */
	struct file **values;
	size_t value_count;
	uint64_t bytes;   /* size of all files */
	uint64_t damaged; /* number of damaged files */
	/*
	 * Whether the disk could not read a file of the block. If so, the
	 * directory must be set aside (renamed), not removed.
	 */
	bool unreadable;

	/* Protects the pointer to the tombstones. */
	struct mutex mu;
	struct tombstones *tombstones;
	/*
	 * Whether the disk could not read their file, which is then not
	 * replaced. Only block_open() and block_delete() use it.
	 */
	bool tombstones_unread;
};

/*
 * Path of a block's directory with a suffix (may be ""); the caller frees it.
 */
char *block_path(const struct block_env *env, const struct ulid *u,
		 const char *suffix);

/*
 * Open the block in the directory `path`; the caller owns *out. ERR_NOTFOUND:
 * there is no meta.json. ERR_CORRUPT: meta.json or the index is damaged, or
 * meta.json lists unknown files. ERR_UNSUPPORTED: written by a later version.
 * ERR_IO: the disk could not read meta.json or the index. Damage to other files
 * is logged and counted, and only the affected profiles are unreadable
 * (docs/decisions.md, 26).
 */
NODISCARD int block_open(const struct block_env *env, const char *path,
			 struct block **out, struct err *err);

/* Take a reference and return `b`. */
struct block *block_ref(struct block *b);

/* Release a reference; the last one closes the block. NULL is a no-op. */
void block_unref(struct block *b);

/*
 * Read the label set of the series with this reference; the caller owns *out.
 * ERR_CORRUPT, ERR_IO: the index could not be read.
 */
NODISCARD int block_labels(const struct block *b, uint32_t ref,
			   struct labels **out, struct err *err);

/*
 * Add to *out the chunks of a series that overlap [from, to], and all tombstone
 * intervals of the series. ERR_CORRUPT, ERR_IO: the index could not be read.
 */
NODISCARD int block_groups(struct block *b, uint32_t ref, int64_t from,
			   int64_t to, struct chunks *out, struct err *err);

/*
 * Callbacks that read the metadata of this block's chunks; they borrow the
 * block.
 */
struct chunk_source block_source(struct block *b);

/*
 * Add the times of the visible profiles of a series in [from, to] to *out, in
 * any order. A profile is visible unless a tombstone hides it. Chunks with
 * unreadable metadata are counted in out->lost. ERR_CORRUPT, ERR_IO: the index
 * could not be read.
 */
NODISCARD int block_times(struct block *b, uint32_t ref, int64_t from,
			  int64_t to, struct times *out, struct err *err);

/*
 * Find the visible profile of a series at time `ms`. Of *out only the member
 * `group` is set. ERR_NOTFOUND: there is no such profile. ERR_CORRUPT, ERR_IO:
 * the index or chunk metadata could not be read.
 */
NODISCARD int block_lookup(struct block *b, uint32_t ref, int64_t ms,
			   struct part_hit *out, struct err *err);

/*
 * The values file with this number, borrowed; NULL if the block has no such
 * file or could not open it.
 */
struct file *block_values(const struct block *b, uint32_t file);

/*
 * Set the error for a file of `folder` that the block lacks or could not open,
 * and return it: ERR_IO if some file could not be opened because the disk failed,
 * else ERR_CORRUPT.
 */
int block_tell_absent(const struct block *b, const char *folder,
		      uint64_t number, struct err *err);

/* The current tombstones, with a reference that the caller releases. */
struct tombstones *block_tombstones(struct block *b);

/*
 * Add the tombstones in `more`, durably. Readers see them once the file has
 * been written. Only one thread at a time may call it for a block. ERR_NOSPACE,
 * ERR_IO: nothing has changed.
 */
NODISCARD int block_delete(struct block *b, const struct tombstones *more,
			   struct err *err);

#endif
