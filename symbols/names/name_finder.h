/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Name finder: the functions at addresses of a file. It asks a file helper for
 * the names in the file and in its debug file, and keeps what was found in a
 * cache of limited size.
 *
 * Ownership: a finder owns its file helper and its cache.
 * Threads: one thread at a time.
 */
#ifndef SYMBOLS_NAMES_NAME_FINDER_H
#define SYMBOLS_NAMES_NAME_FINDER_H

#include "base/vec.h"
#include "symbols/helper/file_helper.h"
#include "symbols/names/elf_names.h"
#include "symbols/names/name_cache.h"

/* The operations of a file helper that a finder needs. */
enum name_operation {
	NAME_ELF_OPERATION,  /* elf_names_read() */
	NAME_PERF_OPERATION, /* perf_map_read() */
	NAME_CRC_OPERATION,  /* file_crc_read() */
	NAME_OPERATIONS,
};

/* These operations, for file_helper_serve(). */
extern file_operation *const name_operations[NAME_OPERATIONS];

enum {
	/* Number of files of which a finder remembers that reading failed. */
	NAME_FAILURES = 8,
};

/* A file that the helper could not read, although it is there. */
struct name_failure {
	uint64_t file;    /* hash, as in struct name_file */
	int64_t until_ns; /* when it may be tried again */
};

/* A finder. */
struct name_finder {
	struct file_helper *helper;
	struct name_cache cache;
	/*
	 * Directory with separate debug files, by build ID; NULL or empty:
	 * none.
	 */
	const char *debug_dir;
	/*
	 * Whether debug files of debug_dir are used only if everyone may read
	 * them. Otherwise, anybody could write any build ID into a program, and
	 * would get the names of its debug file.
	 */
	bool public_debug_files;
	unsigned timeout_ms; /* of the helper, for the names of one file */
	/* Deadline for all names, in ns of clock_mono_ns(); 0: none. */
	int64_t deadline_ns;
	/* Largest size of an answer of the helper in bytes. */
	size_t answer_max;
	/*
	 * Whether the paths of files come from strangers, who must not learn
	 * from the duration of a call whether there is a file at a path.
	 */
	bool hides_files;
	struct name_failure failures[NAME_FAILURES];
	unsigned next_failure; /* the one to be replaced */
};

/* A file whose addresses get names. Borrowed. */
struct name_file {
	const char *path;
	struct bytes build_id; /* empty: not known */
	/*
	 * The key of the file in the cache. Files with the same build ID of the
	 * same owner have the same names, wherever they are.
	 */
	struct name_cache_file id;
	/* The mapping that the addresses are in; NULL: as in the ELF file. */
	const struct name_mapping *mapping;
	/*
	 * Opens the file itself (`path` is NULL) or a file beside it, as the
	 * process sees it. Returns a descriptor, or -1.
	 */
	int (*open)(const void *ctx, const char *path);
	const void *ctx;
};

/* Frames to be named: the place of each in `out`, and its address. */
struct unnamed_frames {
	VEC(uint64_t) addresses;
	VEC(uint32_t) places;
};

/* Free the lists. */
void unnamed_frames_fini(struct unnamed_frames *u);

/*
 * Look an address up in the cache. True: its names, perhaps none, are known, and
 * were copied into the arena.
 */
bool name_finder_cached(struct name_finder *n, const struct name_file *f,
			uint64_t address, struct arena *arena,
			struct bytes *out);

/*
 * Find the names of frames of a file, and remember them. Element u->places.v[i]
 * of `out` becomes the answer (symbols/names/name_answer.h) for frame i; it
 * stays empty if there is none. ERR_TIMEOUT: there was no time to read the
 * file; ERR_CORRUPT: the helper failed. In these cases, some names may have
 * been found; the others are not remembered as missing. A file that took the
 * whole time, or ended the helper, is not read again for some seconds:
 * ERR_AGAIN.
 */
NODISCARD int name_finder_find(struct name_finder *n, const struct name_file *f,
			       const struct unnamed_frames *u,
			       struct arena *arena, struct bytes *out,
			       struct err *err);

/*
 * Find the names of frames in the perf map of a descriptor, which is taken over.
 * They are not remembered, because the map grows. Errors as name_finder_find().
 */
int name_finder_perf_map(struct name_finder *n, int fd,
			 const struct unnamed_frames *u, struct arena *arena,
			 struct bytes *out);

/* Free everything. */
void name_finder_fini(struct name_finder *n);

#endif
