/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/dns/dns_client.h"

#include <ares.h>
#include <arpa/nameser.h>
#include <pthread.h>

#include "base/mem.h"

#define TIMEOUT_MS 2000 /* timeout of a name server in the first round */
#define ROUNDS     2    /* how often each name server is asked, at most */
#define EDNS_BYTES 4096 /* size of UDP responses that servers may send */

/* One c-ares channel. */
struct dns_client {
	struct http_client *loop;
	ares_channel channel;
};

/* A query. */
struct dns_query {
	dns_done_fn done;
	void *ctx;
};

/* Called by the loop when a socket of c-ares is ready. */
static void dns_on_ready(void *ctx, int fd, unsigned ready)
{
	struct dns_client *c = ctx;

	ares_process_fd(c->channel,
			ready & HTTP_READABLE ? fd : ARES_SOCKET_BAD,
			ready & HTTP_WRITABLE ? fd : ARES_SOCKET_BAD);
}

/* Called by c-ares to say for which events it now waits at the socket `fd`. */
static void dns_on_socket(void *ctx, ares_socket_t fd, int readable,
			  int writable)
{
	struct dns_client *c = ctx;
	unsigned events = (readable ? HTTP_READABLE : 0) |
			  (writable ? HTTP_WRITABLE : 0);

	if (events)
		http_watch(c->loop, fd, events, dns_on_ready, c);
	else
		http_unwatch(c->loop, fd);
}

static void init_library(void)
{
	(void)ares_library_init(ARES_LIB_INIT_ALL);
}

int dns_client_new(struct http_client *loop, const char *servers,
		   struct dns_client **out, struct err *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct dns_client *c = mem_new(struct dns_client);
	struct ares_options o = { .flags = ARES_FLAG_EDNS | ARES_FLAG_NOSEARCH |
					   ARES_FLAG_NOALIASES,
				  .timeout = TIMEOUT_MS,
				  .tries = ROUNDS,
				  .ednspsz = EDNS_BYTES,
				  .sock_state_cb = dns_on_socket,
				  .sock_state_cb_data = c };
	int rc;

	pthread_once(&once, init_library);
	c->loop = loop;
	rc = ares_init_options(&c->channel, &o,
			       ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS |
				       ARES_OPT_TRIES | ARES_OPT_EDNSPSZ |
				       ARES_OPT_SOCK_STATE_CB);
	if (rc)
		c->channel = NULL;
	else if (servers)
		rc = ares_set_servers_ports_csv(c->channel, servers);
	if (rc) {
		dns_client_free(c);
		return err_set(err, ERR_IO,
			       "cannot set up the DNS client (c-ares): %s",
			       ares_strerror(rc));
	}
	*out = c;
	return 0;
}

void dns_client_free(struct dns_client *c)
{
	if (!c)
		return;
	if (c->channel)
		ares_destroy(c->channel);
	mem_free(c);
}

/*
 * Return the error for a status of c-ares; 0: the name exists, perhaps without
 * records of the requested type.
 */
static int code_of(int status, struct err *err)
{
	switch (status) {
	case ARES_SUCCESS:
	case ARES_ENODATA:
		return 0;
	case ARES_ENOTFOUND:
		return err_set(err, ERR_NOTFOUND, "the name does not exist");
	case ARES_EDESTRUCTION:
	case ARES_ECANCELLED:
		return err_set(err, ERR_CLOSED, "the query was cancelled");
	case ARES_ETIMEOUT:
		return err_set(err, ERR_TIMEOUT,
			       "no name server of /etc/resolv.conf answers");
	case ARES_EBADNAME:
		return err_set(err, ERR_INVALID, "the name is not valid");
	case ARES_EFORMERR:
		return err_set(
			err, ERR_AGAIN,
			"a name server refuses the query as malformed (FORMERR)");
	default:
		return err_set(err, ERR_AGAIN, "the name servers failed: %s",
			       ares_strerror(status));
	}
}

/*
 * Called by c-ares at the end of a query; c-ares prescribes the parameter
 * types.
 */
static void dns_on_answer(void *arg, int status, int timeouts UNUSED,
			  unsigned char *data, /* NOLINT */
			  int len)
{
	struct dns_query *q = arg;
	struct bytes response = { data, data && len > 0 ? (size_t)len : 0 };
	struct err err;

	q->done(q->ctx, code_of(status, &err), response, &err);
	mem_free(q);
}

void dns_client_ask(struct dns_client *c, const char *name, enum dns_type type,
		    dns_done_fn done, void *ctx)
{
	struct dns_query *q = mem_new(struct dns_query);

	q->done = done;
	q->ctx = ctx;
	ares_query(c->channel, name, ns_c_in, dns_type_number(type),
		   dns_on_answer, q);
}

int64_t dns_client_next_ms(const struct dns_client *c)
{
	struct timeval tv;

	if (!ares_timeout(c->channel, NULL, &tv))
		return -1;
	return tv.tv_sec * 1000LL + tv.tv_usec / 1000 + 1;
}

void dns_client_expire(struct dns_client *c)
{
	ares_process_fd(c->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}
