/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache of names, of limited size. It has two halves, a young and an old one.
 * Names are added to the young half, and names that are found in the old half
 * are copied into the young one. When the young half is full, it becomes the
 * old one, and the former old half is evicted. So names stay as long as they
 * are used.
 *
 * Ownership: a cache owns its names.
 * Threads: one thread at a time.
 */
#ifndef SYMBOLS_NAMES_NAME_CACHE_H
#define SYMBOLS_NAMES_NAME_CACHE_H

#include "base/arena.h"
#include "base/table.h"
#include "base/vec.h"

/*
 * Identifies the file that names belong to: the beginning of a SHA-256 digest,
 * see name_cache_file_of(). Names of a stranger's file must never be taken for
 * those of another file. So nobody must be able to make two files with the same
 * digest; a hash such as hash_bytes() does not ensure this.
 */
struct name_cache_file {
	uint64_t digest[2];
};

/*
 * The key of an answer: an address in a file. In a mapping, `address` counts
 * from the beginning of the mapping. If there is no mapping, `address` is as in
 * the ELF file, and `offset` and `size` are 0.
 */
struct name_cache_key {
	struct name_cache_file file;
	uint64_t offset; /* where the mapping begins in the file */
	uint64_t size;   /* of the mapping in bytes */
	uint64_t address;
};

/* Half of a cache: answers by file and address. */
struct name_cache_half {
	struct table by_key;
	VEC(struct name_cache_key) keys;
	VEC(struct bytes) answers; /* in the arena */
	struct arena arena;
};

/* A cache. The zero value, with `half_max` set, is an empty cache. */
struct name_cache {
	size_t half_max; /* a half is full if it has more bytes than this */
	struct name_cache_half young;
	struct name_cache_half old;
};

/* Free everything; the cache is empty and usable again. */
void name_cache_fini(struct name_cache *c);

/*
 * Return the digest of the parts, in this order. The parts, for example a build
 * ID and a path, together identify a file.
 */
struct name_cache_file name_cache_file_of(const struct bytes *parts,
					  size_t count);

/*
 * Add an answer (symbols/names/name_answer.h); an empty one says that the
 * address has no name.
 */
void name_cache_add(struct name_cache *c, const struct name_cache_key *key,
		    struct bytes answer);

/*
 * Copy the answer for `key` into `arena`, and store the copy in *out. False:
 * the cache has no answer for `key`.
 */
bool name_cache_find(struct name_cache *c, const struct name_cache_key *key,
		     struct arena *arena, struct bytes *out);

#endif
