/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of /proc/PID/maps (Linux, Documentation/filesystems/proc.rst).
 *
 * Ownership: a line borrows its path from the text.
 * Threads: any.
 */
#ifndef BPF_PROCESS_MAPS_LINE_H
#define BPF_PROCESS_MAPS_LINE_H

#include "base/bytes.h"

/* A mapping of a process. */
struct maps_line {
	uint64_t start;
	uint64_t end;
	bool executable;
	uint64_t offset; /* in the file */
	/* device of the file; without a file, both numbers are 0 */
	uint32_t major;
	uint32_t minor;
	uint64_t inode;
	/*
	 * The path of the file, a name such as "[vdso]", or empty. A line end
	 * in a path is written as "\012", and " (deleted)" follows the path of
	 * a file that was removed.
	 */
	struct str path;
};

/*
 * Return `path` without " (deleted)", the kernel's mark of a file that was
 * removed. Borrowed from `path`.
 */
struct str maps_line_undeleted(struct str path);

/*
 * Parse `line`, which is passed without its line end. False: it is malformed.
 */
NODISCARD bool maps_line_parse(struct str line, struct maps_line *out);

#endif
