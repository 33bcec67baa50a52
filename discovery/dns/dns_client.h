/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the system's name servers for records, with c-ares, on the loop of an
 * HTTP client.
 *
 * Queries go over UDP with EDNS, and again over TCP if the response was
 * truncated. If a name server does not answer, or answers with the error
 * SERVFAIL, NOTIMP or REFUSED, the next one is asked. Each name server is asked
 * at most twice.
 *
 * Ownership: the client owns its queries.
 * Threads: the thread of the loop.
 */
#ifndef DISCOVERY_DNS_DNS_CLIENT_H
#define DISCOVERY_DNS_DNS_CLIENT_H

#include "client/transfer/http.h"
#include "discovery/dns/dns_records.h"

struct dns_client;

/*
 * Receive the outcome of a query, as `code`. 0: the name exists, and `response`
 * is the whole message; if there are no records of the type, `response` may be
 * empty. ERR_NOTFOUND: the name does not exist. ERR_TIMEOUT, ERR_AGAIN,
 * ERR_INVALID: the query has failed, and `err` says why. ERR_CLOSED: the client
 * was freed. The callback must not free the client.
 */
typedef void (*dns_done_fn)(void *ctx, int code, struct bytes response,
			    const struct err *err);

/*
 * Create a client. `servers` is a list "address:port,…"; NULL: the servers in
 * /etc/resolv.conf.
 */
NODISCARD int dns_client_new(struct http_client *loop, const char *servers,
			     struct dns_client **out, struct err *err);

/* Free a client; its queries end as ERR_CLOSED. NULL is a no-op. */
void dns_client_free(struct dns_client *c);

/*
 * Start a query for the records of `name` with the type `type`; done() may be
 * called before dns_client_ask() returns.
 */
void dns_client_ask(struct dns_client *c, const char *name, enum dns_type type,
		    dns_done_fn done, void *ctx);

/*
 * Return the ms until dns_client_expire() must be called; -1: no call is
 * needed.
 */
int64_t dns_client_next_ms(const struct dns_client *c);

/* Retry or end the queries that have timed out. */
void dns_client_expire(struct dns_client *c);

#endif
