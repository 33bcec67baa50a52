/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Process reader: a separate process that reads what /proc tells of a process,
 * and opens files as that process sees them. Opening /proc/PID/maps, or
 * following the links /proc/PID/exe and /proc/PID/root, takes a lock of the
 * process PID (exec_update_lock in Linux). In the middle of execve(), a process
 * holds this lock while it closes its files. If a file is on a FUSE file
 * system, this lasts for as long as its server likes, which may be any user's.
 * A thread that waits for the lock can only be ended together with its process.
 * A separate process can be killed, or abandoned (docs/decisions.md, 201).
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
	/* Reading a process, or opening a file, may take this time. */
	PROCESS_READER_TIMEOUT_MS = 1000,
	/* Largest answer; more than ADDRESS_RANGES_MAX mappings are not kept. */
	PROCESS_ANSWER_MAX = 4 << 20,
};

/*
 * Run as the process that reads. Standard input is the socket to the process
 * that asks. Returns the status for exit().
 */
int process_reader_serve(void);

/* The texts of a process. They borrow the answer. */
struct process_text {
	struct str name; /* of its first thread */
	struct str exe; /* path of its program; empty: a thread of the kernel */
	struct str cgroup;  /* the file /proc/PID/cgroup */
	struct str cmdline; /* each argument ends with NUL */
	struct str maps;    /* the lines of its executable memory */
};

/*
 * Read a process; its mappings only `with_maps`. The answer is appended to
 * `answer`, which is empty and should be limited to PROCESS_ANSWER_MAX. Errors:
 * the process has ended (ERR_NOTFOUND), its mappings must not be read, or those
 * of file_helper_call().
 */
NODISCARD int process_reader_read(struct file_helper *reader, uint32_t pid,
				  bool with_maps, struct buf *answer,
				  struct process_text *out, struct err *err);

/*
 * As process_file_open(), or, without a path, process_file_open_program(). `pid`
 * 0 is everprof itself.
 */
int process_reader_open(struct file_helper *reader, uint32_t pid,
			const char *path, const struct process_user *u,
			const struct process_file_wish *wish);

#endif
