/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of HTTP status codes.
 *
 * Ownership: returns constants.
 * Threads: pure functions.
 */
#ifndef CLIENT_HTTP_STATUS_H
#define CLIENT_HTTP_STATUS_H

#include "client/http.h"

/* "Found" for 302; "" for what has no name. */
const char *http_status_text(long status);

/* 0 for a 200; else what there was instead: the transfer's error, ERR_INVALID. */
NODISCARD int http_status_check(const struct http_response *r, struct err *err);

#endif
