/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receiving side of a transfer: libcurl's callbacks for headers and body,
 * with their limits.
 *
 * Ownership: the transfer owns what it receives.
 * Threads: the thread of the client's loop.
 */
#ifndef CLIENT_TRANSFER_TRANSFER_RECEIVE_H
#define CLIENT_TRANSFER_TRANSFER_RECEIVE_H

#include "client/transfer/transfer.h"

/*
 * libcurl's callback for a piece of the body. Returns the size of the piece, 0
 * to abort the transfer, or CURL_WRITEFUNC_PAUSE, after which libcurl delivers
 * the same piece again.
 */
size_t transfer_on_body(char *p, size_t size, size_t n, void *arg);

/*
 * libcurl's callback for one header line. libcurl limits the length of a line;
 * this callback limits the size of all lines together.
 */
size_t transfer_on_header(char *p, size_t size, size_t n, void *arg);

#endif
