/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OAuth 2 tokens by client credentials: fetched when one is needed, kept until
 * shortly before they end.
 *
 * Source: RFC 6749 4.4 and 2.3.1: the client is named in an Authorization
 * header; a server that refuses it gets it in the body.
 *
 * Ownership: the http_config that has it.
 * Threads: the loop of the client that is given.
 */
#ifndef CLIENT_TRANSFER_OAUTH2_H
#define CLIENT_TRANSFER_OAUTH2_H

#include "client/http.h"
#include "client/http_options.h"

struct oauth2;

struct oauth2 *oauth2_new(const struct http_oauth2 *a);
void oauth2_free(struct oauth2 *o); /* NULL is a no-op */

/* value: what stands behind "Authorization: "; NULL: err says why not. */
typedef void (*oauth2_fn)(void *ctx, const char *value, const struct err *err);

/*
 * Call fn with a token: now, or when it has come. owner has o, and stays while
 * a token is fetched.
 */
void oauth2_ask(struct oauth2 *o, struct http_config *owner,
		struct http_client *c, const struct http_request *like,
		oauth2_fn fn, void *ctx);

/* Whoever asked with that ctx is not called any more. */
void oauth2_forget(struct oauth2 *o, const void *ctx);

/* The token was refused: the next one asks anew. */
void oauth2_expire(struct oauth2 *o);

#endif
