/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings of libcurl's easy handle for one transfer: TLS, proxy, host name,
 * credentials and redirects.
 *
 * Ownership: the transfer owns everything that is set here.
 * Threads: the thread of the client's loop.
 */
#ifndef CLIENT_TRANSFER_EASY_H
#define CLIENT_TRANSFER_EASY_H

#include "client/transfer/transfer.h"

/*
 * Set `err` to `why`, the error message of the CURLcode `result`, with a hint
 * about the option that the user should check, if there is one. Return
 * ERR_AGAIN.
 */
int easy_transfer_error(const struct transfer *t, int result, const char *why,
			struct err *err);

/*
 * Set *err for a socket that could not be connected, and return ERR_AGAIN;
 * libcurl's own message would name a host and a port.
 */
int easy_socket_error(const struct transfer *t, struct err *err);

/*
 * Set the members `proxy`, `name` and `port` for the transfer's current URL.
 * ERR_INVALID: the proxy's URL is malformed, or the host name is not ASCII.
 */
NODISCARD int easy_route(struct transfer *t, struct err *err);

/*
 * ERR_INVALID: a header of the request has a control character, perhaps in a
 * token. A line end would begin another header, or a second request (request
 * smuggling). The message names the header, and not its value.
 */
NODISCARD int easy_check_headers(const struct transfer *t, struct err *err);

/*
 * Set the options of libcurl's handle for the transfer's current URL, from the
 * transfer's configuration. Credentials are left out once a redirect has led to
 * another scheme, host or port than the request's.
 */
void easy_set_config(struct transfer *t);

/*
 * Return the URL to which a redirect response points, as endpoint_url_shown(); NULL
 * if there is none. The caller owns the text.
 */
char *easy_location_shown(const struct transfer *t);

/* Return why a request follows no redirects, in words; "" if it does. */
const char *easy_unfollowed(const struct transfer *t);

/*
 * Return the URL of the redirect that the transfer is to follow. NULL: the
 * response is not a redirect, or the configuration does not allow redirects.
 * The caller owns the text.
 */
char *easy_redirect(const struct transfer *t);

#endif
