/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Endpoints: functions that take URLs apart and put them together. They use
 * libcurl's own URL parser, so that a check made here sees the same host that
 * libcurl will connect to.
 *
 * Ownership: the caller owns returned text and frees it with mem_free().
 * Threads: any; the functions keep no state.
 */
#ifndef CLIENT_ADDRESS_ENDPOINT_H
#define CLIENT_ADDRESS_ENDPOINT_H

#include "base/bytes.h"
#include "base/err.h"

/* The parts of a URL that decide where a request goes. */
enum endpoint_part {
	URL_SCHEME,
	URL_HOST,
	URL_PORT
};

/*
 * Return a part of the URL, or NULL if the URL cannot be parsed or lacks the
 * part. For a URL without a port, URL_PORT is the default port of the scheme.
 * The caller owns the text.
 */
char *endpoint_part(const char *url, enum endpoint_part part);

/*
 * Return whether a part is equal in two URLs, ignoring case; false if either
 * URL lacks the part.
 */
bool endpoint_same_part(const char *a, const char *b, enum endpoint_part part);

/*
 * Return whether two URLs have the same scheme, host and port, so that
 * credentials for one URL may be sent to the other.
 */
bool endpoint_same_origin(const char *a, const char *b);

/*
 * Return the URL with its host replaced, or NULL if the URL or the host is
 * malformed. The caller owns the text.
 */
char *endpoint_with_host(const char *url, const char *host);

/*
 * Return the URL without user and password, and store user and password,
 * percent-decoded, in *user and *password. The caller owns all three texts.
 * Returns NULL, with *user and *password set to NULL, if the URL has no user or
 * cannot be parsed. *password may hold a secret: free it with mem_forget().
 */
char *endpoint_split_user(const char *url, char **user, char **password);

/*
 * Return the URL without user and password; its query may still be a secret. A
 * URL that cannot be parsed becomes "a URL" if it contains an "@", because it
 * may then contain a password. The caller owns the text.
 */
char *endpoint_without_user(const char *url);

/*
 * Complete a proxy's URL with the scheme and port that Go would assume; the
 * caller owns *out. ERR_INVALID: the text is not the URL of a proxy. The
 * message does not repeat the text, because it may contain a password.
 */
NODISCARD int endpoint_proxy(const char *text, char **out, struct err *err);

/*
 * Return the URL without what may be a secret, for logs, metrics, pages and
 * answers: without user, password and fragment, and with "?…" in place of the
 * query. The caller owns the text.
 */
char *endpoint_url_shown(const char *url);

/*
 * Whether a URL has a part that endpoint_url_shown() leaves out. The parts are not
 * parsed: an "@" or "?" anywhere counts.
 */
bool endpoint_url_has_secret(struct str url);

#endif
