/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open the socket that the server listens on.
 *
 * Ownership: the descriptor is the caller's.
 * Threads: any.
 */
#ifndef WEB_HTTP_LISTEN_H
#define WEB_HTTP_LISTEN_H

#include "base/err.h"

/* host:port; port 0: any free one. ERR_INVALID, ERR_IO. */
NODISCARD int listen_on(const char *address, int *out, struct err *err);

/* The port that is listened on. */
unsigned listen_port(int fd);

#endif
