/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debug files: the places of debug information that was split off from its
 * program. They are those where GDB looks (GDB manual, "Debugging Information
 * in Separate Files").
 *
 * Ownership: the caller closes the descriptors.
 * Threads: any.
 */
#ifndef SYMBOLS_NAMES_DEBUG_FILE_H
#define SYMBOLS_NAMES_DEBUG_FILE_H

#include "base/buf.h"

/*
 * Append the path of the debug file of a build ID below a directory. False:
 * `dir` is NULL or empty, or the build ID is too short or too long.
 */
bool debug_file_path(const char *dir, struct bytes build_id, struct buf *out);

enum {
	/* Number of places where the file that a link names may be. */
	DEBUG_LINK_PLACES = 3,
};

/*
 * Append the path of place number `i` for the debug file that the file `path`
 * names in its section .gnu_debuglink: beside it, in the folder .debug beside
 * it, and below the directory `dir`. False: there is no such place, or the link
 * is not the name of a file.
 */
bool debug_link_path(const char *dir, const char *path, struct str link,
		     unsigned i, struct buf *out);

#endif
