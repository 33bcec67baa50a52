/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Endpoints: URLs, taken apart and put together by libcurl's own parser, so that
 * what is judged here is where it goes.
 *
 * Ownership: text that is returned is the caller's.
 * Threads: any.
 */
#ifndef CLIENT_ENDPOINT_H
#define CLIENT_ENDPOINT_H

#include "base/err.h"

enum endpoint_part {
	URL_SCHEME,
	URL_HOST,
	URL_PORT
};

/* That part (its scheme's port, if it names none), or NULL. */
char *endpoint_part(const char *url, enum endpoint_part part);
bool endpoint_same_part(const char *a, const char *b, enum endpoint_part part);
bool endpoint_same_origin(const char *a, const char *b);

/* The URL with another host, or NULL. */
char *endpoint_with_host(const char *url, const char *host);

/* The URL without user and password, which go there; NULL: it has none. */
char *endpoint_split_user(const char *url, char **user, char **password);

/*
 * A proxy's URL as libcurl shall see it, complete. ERR_INVALID, without the URL
 * in the message: it may hold a password.
 */
NODISCARD int endpoint_proxy(const char *text, char **out, struct err *err);

/* The URL without user and password, to be shown; the caller's. */
char *http_url_shown(const char *url);

#endif
