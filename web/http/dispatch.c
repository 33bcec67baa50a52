/* SPDX-License-Identifier: Apache-2.0 */
#include "web/http/dispatch.h"

#include "base/clock.h"
#include "web/http/access.h"
#include "web/http/reply.h"
#include "web/http/upload.h"

/*
 * Whether a request must now be listed as a running query: it has a handler
 * that may take long, and a client that may leave meanwhile. A request that
 * changes something is one, too: a deletion or a scrape on demand. A request
 * whose sender is not verified yet is listed later; its path may even be
 * unknown.
 */
static bool dispatch_is_query(const struct exchange *x)
{
	return x->suspended && !x->unverified && x->route &&
	       (x->route->kind == ROUTE_READ ||
		x->route->kind == ROUTE_MESSAGE ||
		x->route->kind == ROUTE_WRITE) &&
	       !x->answer.work.progress;
}

/*
 * List a request as a running query, which is cancelled if its client closes
 * the connection.
 */
static void dispatch_begin_query(struct exchange *x)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		x->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct running_query *q = &x->running;

	if (!info)
		return;
	q->fd = info->connect_fd;
	q->path = x->request.path;
	q->user = str_of(x->who.name);
	q->started_ms = x->request.params.now_ms;
	if (!params_find(&x->request.params, "query", &q->query))
		(void)params_find(&x->request.params, "query_b", &q->query);
	x->answer.work.progress = &q->progress;
	running_add(x->server->running, q,
		    str_of(exchange_header(x, "X-Everprof-Query")));
}

/*
 * Remove a request from the list of running queries. This must happen before
 * the connection is resumed, because the connection may be closed at any time
 * after that.
 */
static void dispatch_end_query(struct exchange *x)
{
	running_remove(x->server->running, &x->running);
	x->answer.work.progress = NULL;
}

/*
 * Run the handler of a request: on a worker thread, or for ROUTE_QUICK on the
 * server's thread.
 */
static void dispatch_run(void *ctx, unsigned worker UNUSED)
{
	struct exchange *x = ctx;
	struct server *s = x->server;

	access_verify(x);
	/*
	 * Now the sender is verified, so the query can be listed with the
	 * sender's name.
	 */
	if (!x->answer.status && dispatch_is_query(x))
		dispatch_begin_query(x);
	if (!x->answer.status && exchange_has_message(x))
		x->request.body = buf_bytes(&x->form);
	else if (!x->answer.status)
		exchange_parse_form(x);
	if (!x->answer.status)
		x->route->handle(s->o.ctx, &x->request, &x->answer);
	upload_free(x);
	reply_finish(x);
	x->answered = true;
	dispatch_end_query(x);
	if (x->suspended)
		MHD_resume_connection(x->connection);
}

enum MHD_Result dispatch_request(struct exchange *x)
{
	struct server *s = x->server;
	struct err err;

	x->request.params.now_ms = clock_ms(NULL);
	/* The time that the client took to send a large body does not count. */
	x->request.deadline_ns = x->answer.work.deadline_ns =
		(upload_is(x) ? clock_mono_ns() : x->started_ns) +
		s->o.query_timeout_ms * 1000000;
	x->answer.work.stop_ns = &s->stop_ns;
	exchange_turn(x, CONNECTION_WORKING);
	access_check(x);
	if (x->answer.status)
		return reply_send(x);
	if (!x->unverified && route_is_quick(x->route)) {
		dispatch_run(x, 0);
		return reply_send(x);
	}
	x->suspended = true;
	MHD_suspend_connection(x->connection);
	if (dispatch_is_query(x))
		dispatch_begin_query(x);
	if (pool_submit(upload_is(x) ? s->body_pool : s->pool,
			upload_is(x) ? x->client->store : x->client->work,
			dispatch_run, x, &err)) {
		exchange_fail(x, &err);
		x->answered = true;
		dispatch_end_query(x);
		MHD_resume_connection(x->connection);
	}
	return MHD_YES;
}
