/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Name finder: finds the names of the functions at addresses of a file. It asks
 * a file helper (file_helper.h) for the names in the file and in its debug
 * file, and keeps what was found in a cache of limited size (name_cache.h).
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

/*
 * A file with which the helper failed (file_helper_failed()), for which a call
 * of the helper returned ERR_AGAIN (file_helper.h), or for which no time was
 * left.
 */
struct name_failure {
	uint64_t file;    /* id.digest[0] of its struct name_file */
	int64_t until_ns; /* read again from this time of clock_mono_ns() on */
};

/* A finder. */
struct name_finder {
	struct file_helper *helper;
	struct name_cache cache;
	/*
	 * Directory with separate debug files, by build ID or by the path of
	 * the file to which they belong (debug_file.h); NULL or empty: none.
	 */
	const char *debug_dir;
	/*
	 * Whether a debug file that debug_dir has for a build ID is used only
	 * if everyone may read the file. A finder whose names are shown to the
	 * users of the programs needs this: a user could write the build ID of
	 * another program into his own, and would be shown the names in a debug
	 * file that he may not read.
	 */
	bool public_debug_files;
	unsigned timeout_ms; /* for a file and its debug files together */
	/*
	 * Deadline of the calls that follow, in ns of clock_mono_ns(); 0: none.
	 */
	int64_t deadline_ns;
	/* Largest size of an answer of the helper in bytes. */
	size_t answer_max;
	/*
	 * Whether the paths of files come from strangers, who must not learn
	 * from the duration of a call whether there is a file at a path.
	 */
	bool hides_files;
	struct name_failure failures[NAME_FAILURES];
	/* index of the failure to be replaced next, modulo NAME_FAILURES */
	unsigned next_failure;
};

/* A file whose addresses get names. What the members point to is borrowed. */
struct name_file {
	const char *path;
	struct bytes build_id; /* empty: not known */
	/*
	 * The key of the file in the cache. The caller chooses what the key is
	 * made of, so that files with the same key have the same names, and
	 * nobody can give his file the key of somebody else's file.
	 */
	struct name_cache_file id;
	/*
	 * The mapping that the addresses are in; NULL: the addresses are as in
	 * the ELF file.
	 */
	const struct name_mapping *mapping;
	/*
	 * Callback: open the file itself if `path` is NULL, otherwise the file
	 * at `path`, which may be the debug file. In the collector, both are
	 * opened as they appear to the process that has mapped the file.
	 * Returns a descriptor, or -1.
	 */
	int (*open)(const void *ctx, const char *path);
	const void *ctx;
};

/*
 * Frames to be named: addresses.v[i] is the address of frame i, and places.v[i]
 * its index in the array `out` of name_finder_find().
 */
struct unnamed_frames {
	VEC(uint64_t) addresses;
	VEC(uint32_t) places;
};

/* Free the lists. */
void unnamed_frames_fini(struct unnamed_frames *u);

/*
 * Look up `address` in the cache. True: the cache has an answer, and *out is a
 * copy of it in the arena. The answer is empty if the address is known to have
 * no name.
 */
bool name_finder_cached(struct name_finder *n, const struct name_file *f,
			uint64_t address, struct arena *arena,
			struct bytes *out);

/*
 * Find the names of the frames `u` of the file `f`, and remember them in the
 * cache. Element u->places.v[i] of `out` becomes the answer
 * (symbols/names/name_answer.h) for frame i; the element stays empty if the
 * frame has no name. ERR_TIMEOUT: no time was left to read the file, or reading
 * it took too long; ERR_CORRUPT: the helper ended; ERR_TOOBIG: its answer was
 * too large; ERR_AGAIN: the file was not read, because of a failure some
 * seconds ago (struct name_failure), or because a call of the helper returned
 * ERR_AGAIN (file_helper.h); other errors: the helper cannot be started. If the
 * file is damaged or no ELF file, this is no error: its frames have no names.
 * After an error, some names may have been found, and it is not remembered
 * which frames have no name. After a failure, the file is not read again for 10
 * s, except if n->deadline_ns was the reason.
 */
NODISCARD int name_finder_find(struct name_finder *n, const struct name_file *f,
			       const struct unnamed_frames *u,
			       struct arena *arena, struct bytes *out,
			       struct err *err);

/*
 * Find the names of the frames `u` in the perf map of `fd` (perf_map.h), which
 * is taken over. The names are not remembered, because the map grows. Errors as
 * name_finder_find(), but earlier failures do not count.
 */
int name_finder_perf_map(struct name_finder *n, int fd,
			 const struct unnamed_frames *u, struct arena *arena,
			 struct bytes *out);

/* Free everything. */
void name_finder_fini(struct name_finder *n);

#endif
