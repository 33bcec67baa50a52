/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP status codes: their names, and the check that a request was successful.
 *
 * Ownership: returned text is constant.
 * Threads: pure functions.
 */
#ifndef CLIENT_TRANSFER_HTTP_STATUS_H
#define CLIENT_TRANSFER_HTTP_STATUS_H

#include "client/transfer/http.h"

/*
 * Return the name of a status code, for example "Found" for 302; "" for a code
 * without a known name.
 */
const char *http_status_text(long status);

/*
 * Return 0 for a response with status 200. If the request failed, returns the
 * error of the request. Any other status is ERR_INVALID, with a message for the
 * user.
 */
NODISCARD int http_status_check(const struct http_response *r, struct err *err);

#endif
