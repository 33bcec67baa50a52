/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between a helper and its caller, over a stream socket of this
 * machine: numbers are in the byte order of the machine.
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
 * An answer; `len` bytes follow: the answer or, after an error, its message. A
 * descriptor may come with it.
 */
struct helper_reply {
	int32_t code;
	uint32_t len;
};

/*
 * Send a whole request with its descriptor, until the time `deadline` of
 * clock_mono_ns(); 0: wait for ever. Returns 0, ERR_TIMEOUT, or ERR_CLOSED if the
 * other end is closed.
 */
NODISCARD int helper_send_request(int socket, uint32_t operation, int fd,
				  struct bytes argument, int64_t deadline);

/*
 * Send the head of an answer, with a descriptor, unless it is -1. ERR_CLOSED: the
 * other end is closed.
 */
NODISCARD int helper_send_reply(int socket, const struct helper_reply *reply,
				int fd);

/* Write all bytes; deadline and errors as helper_send_request(). */
NODISCARD int helper_write(int socket, const void *bytes, size_t len,
			   int64_t deadline);

/* Read exactly `len` bytes; deadline and errors as helper_send_request(). */
NODISCARD int helper_read(int socket, void *to, size_t len, int64_t deadline);

/*
 * Wait for the head of an answer until the time `deadline` of clock_mono_ns(),
 * and take its descriptor, if one comes with it; else *fd is -1. Errors as
 * helper_read().
 */
NODISCARD int helper_receive_reply(int socket, struct helper_reply *out,
				   int *fd, int64_t deadline);

/*
 * Wait for a request and take its descriptor. Returns 0, or ERR_CLOSED if the
 * other end is closed or the request is not one.
 */
NODISCARD int helper_receive_request(int socket, struct helper_request *out,
				     int *fd);

#endif
