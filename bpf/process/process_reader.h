/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Process reader: a helper process that reads what /proc tells of other
 * processes, and opens files as those processes see them. Opening
 * /proc/PID/maps and, in newer kernels, following the links /proc/PID/exe and
 * /proc/PID/root takes a lock of the process PID (exec_update_lock in Linux).
 * In the middle of execve(), a process holds this lock while it closes its
 * files. If one of the files is on a FUSE file system, the process holds the
 * lock for as long as the server of that file system likes, which may be any
 * user's program. A thread that waits for the lock can only be ended together
 * with its process. Therefore a helper process opens these files and follows
 * these links: it can be killed, or abandoned (docs/decisions.md, 201). Reading
 * /proc/PID/status takes no such lock.
 *
 * Ownership: the caller owns helpers, answers and descriptors.
 * Threads: one thread for each helper.
 * Source: proc(5).
 */
#ifndef BPF_PROCESS_PROCESS_READER_H
#define BPF_PROCESS_PROCESS_READER_H

#include "bpf/process/process_file.h"
#include "symbols/helper/file_helper.h"

enum {
	/* Timeout for reading a process, or for opening a file. */
	PROCESS_READER_TIMEOUT_MS = 1000,
	/*
	 * Largest answer in bytes. It has at most ADDRESS_RANGES_MAX mappings.
	 */
	PROCESS_ANSWER_MAX = 4 << 20,
};

/*
 * Be the helper process: answer the calls that come over standard input, which
 * is the socket to the process that asks. Returns the status for exit().
 */
int process_reader_serve(void);

/* The texts of a process, borrowed from the helper's answer. */
struct process_text {
	struct str name; /* of its first thread */
	/*
	 * path of its program; empty: the process is a thread of the kernel or
	 * is ending, or the path cannot be read
	 */
	struct str exe;
	struct str cgroup;  /* the file /proc/PID/cgroup */
	struct str cmdline; /* each argument ends with NUL */
	struct str maps;    /* lines of /proc/PID/maps for executable memory */
};

/*
 * Read the texts of process `pid`. The mappings are read only if `with_maps` is
 * true. The answer is appended to `answer`, which is empty and should be
 * limited to PROCESS_ANSWER_MAX. ERR_NOTFOUND: the process has ended. Other
 * errors: the process or its mappings cannot be read, or file_helper_call()
 * fails.
 */
NODISCARD int process_reader_read(struct file_helper *reader, uint32_t pid,
				  bool with_maps, struct buf *answer,
				  struct process_text *out, struct err *err);

/*
 * As process_file_open() or, if `path` is NULL, process_file_open_program(),
 * but in the helper. If `pid` is 0, the process is the helper itself, so the
 * path begins at the root directory of everprof. Also returns -1 if the helper
 * fails, or takes longer than PROCESS_READER_TIMEOUT_MS.
 */
int process_reader_open(struct file_helper *reader, uint32_t pid,
			const char *path, const struct process_user *u,
			const struct process_file_wish *wish);

#endif
