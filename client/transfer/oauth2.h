/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OAuth 2 tokens by the client credentials grant. A token is fetched when it is
 * first needed and reused until shortly before it expires.
 *
 * Source: RFC 6749 4.4 and 2.3.1. The client's id and secret are sent in an
 * Authorization header. If the token endpoint refuses that, they are sent in
 * the body of the request.
 *
 * Ownership: an oauth2 belongs to the http_config that contains it.
 * Threads: only the thread that runs the loop of the http_client passed to
 * oauth2_ask().
 */
#ifndef CLIENT_TRANSFER_OAUTH2_H
#define CLIENT_TRANSFER_OAUTH2_H

#include "client/transfer/http.h"
#include "client/transfer/http_options.h"

struct oauth2;

/* Create a token source from decoded options. The options are copied. */
struct oauth2 *oauth2_new(const struct http_oauth2 *a);

/* Free a token source and wipe its secrets. NULL is a no-op. */
void oauth2_free(struct oauth2 *o);

/*
 * Callback that receives the value of the Authorization header, for example
 * "Bearer abc", or NULL and the reason in `err`.
 */
typedef void (*oauth2_fn)(void *ctx, const char *value, const struct err *err);

/*
 * Pass a token to `fn`. If there is a valid token, or if none can be fetched
 * now, `fn` is called before oauth2_ask() returns; otherwise `fn` is called
 * when the fetch has ended. The client `c` performs the fetch, with the user
 * agent of the request `like`. `owner` is the configuration that contains `o`;
 * a reference to `owner` is held during the fetch.
 */
void oauth2_ask(struct oauth2 *o, struct http_config *owner,
		struct http_client *c, const struct http_request *like,
		oauth2_fn fn, void *ctx);

/*
 * Withdraw the requests made with this `ctx`; their callbacks are not called.
 */
void oauth2_forget(struct oauth2 *o, const void *ctx);

/*
 * Drop the token because a server has refused it; the next oauth2_ask()
 * fetches a new one.
 */
void oauth2_expire(struct oauth2 *o);

#endif
