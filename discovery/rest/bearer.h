/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bearer tokens of accounts (see rest_account.h), as OAuth 2.0 servers send
 * them.
 *
 * Source: RFC 6749, 5.1; RFC 6750, 2.1.
 *
 * Ownership: a struct bearer owns its token.
 * Threads: the manager's loop.
 */
#ifndef DISCOVERY_REST_BEARER_H
#define DISCOVERY_REST_BEARER_H

#include "discovery/rest/rest_source.h"

/*
 * A token. If a kind of account has bearer_forget() as `forget`, or a table has
 * bearer_prepare() as `prepare`, this struct must be the first member of the
 * account's data, because both functions take that data for a struct bearer.
 */
struct bearer {
	char *token; /* NULL: there is none */
	/* when the token must be renewed, in ms since the epoch */
	int64_t renew_ms;
};

/* Return whether there is a token that need not be renewed yet. */
bool bearer_is_fresh(const struct bearer *b);

/*
 * Set *b to the token in the answer `a`, which is JSON. On errors *b stays as
 * it was.
 */
NODISCARD int bearer_take(struct bearer *b, const struct http_response *a,
			  struct err *err);

/* Forget the token; for the member `forget` of a struct rest_account_kind. */
void bearer_forget(void *data);

/*
 * Add the token to a request; for the member `prepare` of a struct rest_table.
 */
void bearer_prepare(struct rest_run *r, struct rest_request *q);

#endif
