/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File helper: a process without privileges that reads files of strangers. The
 * caller opens a file and passes its descriptor; the helper parses the file and
 * answers with bytes. A file that crashes a parser, makes it run for ever or
 * takes over the process harms nothing else. The helper has no capabilities,
 * and no descriptors but that of the file, its socket, standard output and
 * standard error. It can make only the system calls that reading open files
 * needs (sandbox.h), and is killed if it takes too long. Helpers of
 * file_helper_serve_proc() have more rights.
 *
 * Ownership: a helper owns its process, until file_helper_close().
 * Threads: one thread at a time. A process that waits in the kernel for a file
 * system cannot always be ended, even by SIGKILL. It is left alone, and ends
 * when the wait ends.
 * Errors: those of the operation, and in addition ERR_TIMEOUT: the operation
 * took too long; ERR_CORRUPT: the helper ended during the operation;
 * ERR_TOOBIG: the answer is too large; ERR_AGAIN: see file_helper_set_user(),
 * or the helper could not enter its sandbox; and errors of starting the
 * process. After a timeout, the end of the helper or too large an answer, the
 * next call starts a new process.
 */
#ifndef SYMBOLS_HELPER_FILE_HELPER_H
#define SYMBOLS_HELPER_FILE_HELPER_H

#include "base/buf.h"
#include "base/err.h"

enum {
	/* Largest number of bytes that a caller passes with a descriptor. */
	FILE_HELPER_ARGUMENT_MAX = 32 << 10,
	/* Largest address space of a helper, in MiB. */
	FILE_HELPER_MEMORY_MB = 1024,
};

/*
 * An operation of the helper: take over the descriptor `fd`, parse its file,
 * and append the answer to `out`.
 */
typedef int file_operation(int fd, struct bytes argument, struct buf *out,
			   struct err *err);

/*
 * Be a helper: give up all privileges, then answer the calls that come over
 * `socket`, until the other end is closed. A call chooses operations[i] by its
 * number i. Returns the status for exit().
 */
int file_helper_serve(int socket, file_operation *const *operations,
		      uint32_t count);

/*
 * As file_helper_serve(), for operations that open files, for example in a
 * directory of /proc. The helper keeps its user. A helper that has the right to
 * read /proc of all processes keeps this right, too (SANDBOX_PROC).
 */
int file_helper_serve_proc(int socket, file_operation *const *operations,
			   uint32_t count);

/*
 * In a helper: take over the descriptor `fd`, and send it with the answer of
 * the running operation.
 */
void file_helper_give(int fd);

struct file_helper;

/*
 * Prepare a helper; the first call starts it. `argv` is the program and its
 * arguments, ending with NULL. The program calls file_helper_serve() or
 * file_helper_serve_proc() with standard input as its socket. argv must outlive
 * the helper.
 */
struct file_helper *file_helper_new(char *const *argv);

/*
 * Set the user whose files the next calls read. 0 is root, and the initial
 * value. A process that cannot be ended because it waits for a file system is
 * counted for the user whose file it read. Calls for a user other than root
 * fail with ERR_AGAIN while two such processes are counted for this user, or 32
 * for all users other than root together. Calls for root fail with ERR_AGAIN
 * while 8 are counted for root.
 */
void file_helper_set_user(struct file_helper *h, uint32_t user);

/*
 * End the process; the next call starts a new one. A process that could not be
 * ended is counted for its user (file_helper_set_user()).
 */
void file_helper_rest(struct file_helper *h);

/* End the process and free the helper; NULL is a no-op. */
void file_helper_close(struct file_helper *h);

/*
 * Let the helper run operation number `operation` on the file of `fd`, and
 * append the answer to `out`. ERR_TOOBIG: the answer exceeds the maximum of
 * `out`, or the argument has more than FILE_HELPER_ARGUMENT_MAX bytes.
 * The descriptor is taken over, in case of an error too. The call waits at most
 * `timeout_ms` for the answer, and up to 100 ms more if it has to end the
 * helper.
 */
NODISCARD int file_helper_call(struct file_helper *h, uint32_t operation,
			       int fd, struct bytes argument,
			       unsigned timeout_ms, struct buf *out,
			       struct err *err);

/*
 * Let the helper run operation number `operation`, which opens a file, and
 * store the descriptor of this file in *fd_out, or -1 in case of an error.
 * Otherwise as file_helper_call().
 */
NODISCARD int file_helper_call_open(struct file_helper *h, uint32_t operation,
				    struct bytes argument, unsigned timeout_ms,
				    int *fd_out, struct err *err);

/*
 * Whether the last call failed because of the helper: it did not start, ended,
 * took too long, or gave too large an answer. False if the helper answered that
 * something is wrong with the file, and if a call was refused with ERR_AGAIN
 * while the process runs.
 */
bool file_helper_failed(const struct file_helper *h);

#endif
