/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listen: open the socket that the server listens on.
 *
 * Ownership: the descriptor is the caller's.
 * Threads: any.
 */
#ifndef WEB_HTTP_LISTEN_H
#define WEB_HTTP_LISTEN_H

#include "base/err.h"

/*
 * Listen on host:port; port 0 means any free port. Without a host, all addresses of
 * IPv4 and IPv6 are listened on. `flag` is the flag with the
 * address, for messages. *out is set to the descriptor, or to -1. Returns
 * ERR_INVALID for a malformed or unknown address, and an error of err_sys(), mostly
 * ERR_IO, when listening fails.
 */
NODISCARD int listen_on(const char *flag, const char *address, int *out,
			struct err *err);

/* The port that a socket listens on; 0 when it cannot be found out. */
unsigned listen_port(int fd);

#endif
