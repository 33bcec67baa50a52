/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debug files: the places of debug information that was split off from its
 * program. These are the places where GDB looks (GDB manual, "Debugging
 * Information in Separate Files").
 *
 * Ownership: the caller owns the buffers to which paths are appended.
 * Threads: any.
 */
#ifndef SYMBOLS_NAMES_DEBUG_FILE_H
#define SYMBOLS_NAMES_DEBUG_FILE_H

#include "base/buf.h"

/*
 * Append the path of the debug file for `build_id` below the directory `dir`.
 * False: `dir` is NULL or empty, or the build ID is too short or too long.
 */
bool debug_file_path(const char *dir, struct bytes build_id, struct buf *out);

enum {
	/*
	 * Number of places where the debug file of a link (.gnu_debuglink) is
	 * looked for.
	 */
	DEBUG_LINK_PLACES = 3,
};

/*
 * Append the path of place number `i`, counted from 0, where the debug file of
 * the file `path` may be. `link` is the name of the debug file, from the
 * section .gnu_debuglink of the file `path`. The places are the folder of
 * `path`, its subfolder .debug and, unless `dir` is NULL or empty, the folder
 * whose path is `dir` followed by the folder of `path`. False: there is no such
 * place, `path` is not absolute, or `link` is not the name of a file.
 */
bool debug_link_path(const char *dir, const char *path, struct str link,
		     unsigned i, struct buf *out);

#endif
