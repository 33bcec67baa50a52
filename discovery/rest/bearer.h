/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bearer tokens of accounts, as OAuth 2.0 servers send them.
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
 * A token. In accounts that use bearer_prepare() and bearer_forget(), it must
 * be the first member.
 */
struct bearer {
	char *token; /* NULL: there is none */
	/* when the token must be renewed, in ms since the epoch */
	int64_t renew_ms;
};

/* Return whether there is a token that can still be used. */
bool bearer_is_fresh(const struct bearer *b);

/* Take the token of an answer in JSON. */
NODISCARD int bearer_take(struct bearer *b, const struct http_response *a,
			  struct err *err);

/* Forget the token; for the member `forget` of a struct rest_account_kind. */
void bearer_forget(void *data);

/*
 * Add the token to a request; for the member `prepare` of a struct rest_table.
 */
void bearer_prepare(struct rest_run *r, struct rest_request *q);

#endif
