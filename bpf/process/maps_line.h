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
	uint32_t major;  /* device of the file; 0: no file */
	uint32_t minor;
	uint64_t inode;
	/*
	 * The file, "[vdso]" and the like, or empty. A line end in a name is
	 * "\012", and " (deleted)" follows the name of a file that is gone.
	 */
	struct str path;
};

/*
 * Return a path without the kernel's mark of a file that is gone. Borrowed from the
 * path.
 */
struct str maps_line_undeleted(struct str path);

/* Parse a line, without its end. False: it is malformed. */
NODISCARD bool maps_line_parse(struct str line, struct maps_line *out);

#endif
