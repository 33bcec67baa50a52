/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between a helper (file_helper.h) and its caller, over a Unix stream
 * socket. Numbers are in the byte order of the machine.
 *
 * Threads: one thread at each end.
 */
#ifndef SYMBOLS_HELPER_HELPER_WIRE_H
#define SYMBOLS_HELPER_HELPER_WIRE_H

#include "base/bytes.h"

/* A call; a descriptor comes with it, and `argument` bytes follow. */
struct helper_request {
	uint32_t operation;
	uint32_t argument;
};

/*
 * The head of an answer. `len` bytes follow: the result of the operation or, if
 * `code` is an error, the message of the error. A descriptor may come with the
 * head.
 */
struct helper_reply {
	int32_t code;
	uint32_t len;
};

/*
 * Send a whole request with the descriptor `fd`. `deadline` is a time of
 * clock_mono_ns(); 0: wait for ever. Returns 0, ERR_TIMEOUT if the deadline
 * passed, or ERR_CLOSED if the other end is closed or the socket failed.
 */
NODISCARD int helper_send_request(int socket, uint32_t operation, int fd,
				  struct bytes argument, int64_t deadline);

/*
 * Send the head of an answer and, unless `fd` is -1, the descriptor `fd` with
 * it. The call may wait for ever. ERR_CLOSED: as helper_send_request().
 */
NODISCARD int helper_send_reply(int socket, const struct helper_reply *reply,
				int fd);

/* Write all bytes; deadline and errors as helper_send_request(). */
NODISCARD int helper_write(int socket, const void *bytes, size_t len,
			   int64_t deadline);

/* Read exactly `len` bytes; deadline and errors as helper_send_request(). */
NODISCARD int helper_read(int socket, void *to, size_t len, int64_t deadline);

/*
 * Wait for the head of an answer, and store in *fd the descriptor that comes
 * with it, or -1. `deadline` and errors as helper_read().
 */
NODISCARD int helper_receive_reply(int socket, struct helper_reply *out,
				   int *fd, int64_t deadline);

/*
 * Wait for a request, and store its descriptor in *fd. Returns 0, or ERR_CLOSED
 * if the other end is closed, the socket failed, or what came is no request
 * with a descriptor.
 */
NODISCARD int helper_receive_request(int socket, struct helper_request *out,
				     int *fd);

#endif
