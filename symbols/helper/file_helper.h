/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File helper: a process without privileges that reads files of strangers. The
 * caller opens a file and passes its descriptor; the helper parses it and
 * answers with bytes. A file that makes a parser crash, run for ever or take
 * over the process harms nothing else: the helper has no capabilities, no other
 * descriptors, and can make no system calls but those that read and allocate.
 *
 * Ownership: a helper owns its process, until file_helper_close().
 * Threads: one thread at a time.
 * A helper that waits for something in the kernel and cannot be ended is left
 * alone; it ends when it can.
 * Errors: those of the operation, and in addition ERR_TIMEOUT: the file took too
 * long; ERR_CORRUPT: the helper ended while it read the file. After these two,
 * the next call starts a new helper.
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
 * An operation of the helper: take over a descriptor, parse its file, and add
 * the answer to `out`.
 */
typedef int file_operation(int fd, struct bytes argument, struct buf *out,
			   struct err *err);

/*
 * Be a helper: give up all privileges, then answer calls that come over the
 * socket, until its other end is closed. Returns the status for exit().
 */
int file_helper_serve(int socket, file_operation *const *operations,
		      uint32_t count);

/*
 * As file_helper_serve(), for operations whose descriptor is a directory of
 * /proc: the helper keeps the right to read /proc of all processes.
 */
int file_helper_serve_proc(int socket, file_operation *const *operations,
			   uint32_t count);

/*
 * In a helper: take over a descriptor, and send it with the answer of the
 * running operation.
 */
void file_helper_give(int fd);

struct file_helper;

/*
 * Prepare a helper; the first call starts it. `argv` is the program and its
 * arguments, ending with NULL. The program calls file_helper_serve() with
 * standard input as its socket. argv must outlive the helper.
 */
struct file_helper *file_helper_new(char *const *argv);

/*
 * Set the user for whom the files of the next calls are counted. 0 is root, and
 * the initial value. A helper that waits for a file system cannot be ended. A
 * user other than root with two such helpers gets ERR_AGAIN until one of them
 * has ended.
 */
void file_helper_set_user(struct file_helper *h, uint32_t user);

/*
 * End the process; the next call starts a new one. A process that could not be
 * ended is remembered.
 */
void file_helper_rest(struct file_helper *h);

/* End the process and free the helper; NULL is a no-op. */
void file_helper_close(struct file_helper *h);

/*
 * Let the helper run operation number `operation` on the file of `fd`, and
 * append its answer to `out`. ERR_TOOBIG: the answer exceeds the maximum of
 * `out`. The descriptor is taken over, in case of an error too. The call takes
 * at most `timeout_ms`.
 */
NODISCARD int file_helper_call(struct file_helper *h, uint32_t operation,
			       int fd, struct bytes argument,
			       unsigned timeout_ms, struct buf *out,
			       struct err *err);

/*
 * Let the helper run operation number `operation`, which opens a file, and
 * store the descriptor of this file in *fd_out. Otherwise as
 * file_helper_call().
 */
NODISCARD int file_helper_call_open(struct file_helper *h, uint32_t operation,
				    struct bytes argument, unsigned timeout_ms,
				    int *fd_out, struct err *err);

/*
 * Whether the last call failed because of the helper: it did not start, ended,
 * took too long, or gave too large an answer. False if the helper answered that
 * something is wrong with the file.
 */
bool file_helper_failed(const struct file_helper *h);

#endif
