/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of libcurl's easy handle for one transfer: TLS, proxy, host name,
 * credentials and redirects.
 *
 * Ownership: the transfer owns everything that is set here.
 * Threads: the thread of the client's loop.
 */
#ifndef CLIENT_TRANSFER_EASY_H
#define CLIENT_TRANSFER_EASY_H

#include "client/transfer/transfer.h"

/*
 * Returns a hint on which option to check, to be appended to the message `why`
 * of the CURLcode `result`; "" if there is none.
 */
const char *easy_hint(const struct transfer *t, int result, const char *why);

/*
 * Sets the members proxy, name and port for the transfer's current URL.
 * ERR_INVALID: the proxy's URL is malformed, or the host name is not ASCII.
 */
NODISCARD int easy_route(struct transfer *t, struct err *err);

/*
 * Sets the handle's options from the transfer's configuration for its current
 * URL. Credentials are left out once a redirect has left the first origin.
 */
void easy_set_config(struct transfer *t);

/*
 * Returns the target of a redirect response without user and password, or NULL.
 * The caller owns the text.
 */
char *easy_location(const struct transfer *t);

/*
 * Returns the URL of the redirect that the transfer is to follow, or NULL if
 * there is none or the configuration forbids it. The caller owns the text.
 */
char *easy_redirect(const struct transfer *t);

#endif
