/* SPDX-License-Identifier: Apache-2.0 */
#include "web/local.h"

#include "base/clock.h"
#include "base/url.h"
#include "web/api/context.h"
#include "web/api/envelope.h"
#include "web/routes.h"

/*
 * Split the request's target into path and parameters, and decode both into the
 * arena.
 */
static int local_parse(const char *target, struct request *r, struct err *err)
{
	struct str query;

	if (!url_is_sound(str_of(target)))
		return err_set(err, ERR_INVALID, "invalid request URL %s",
			       target);
	r->method = str_of("GET");
	r->path = url_unescape_path(str_cut(str_of(target), '?', &query),
				    &r->arena);
	r->if_none_match = "";
	r->range = "";
	r->params.now_ms = clock_ms(NULL);
	if (!params_add_form(&r->params, &r->arena, query))
		return err_set(err, ERR_TOOBIG,
			       "the request has too many parameters");
	return 0;
}

/*
 * Pass every piece of a streamed answer to the sink, or append it to `body`. If
 * a stream lacks memory, the request fails with ERR_LIMIT. A server would let
 * the stream wait until other queries free memory, but here no other query
 * runs.
 */
static int local_drain(struct answer_stream *s, const struct local_request *r,
		       struct buf *body, struct err *err)
{
	int rc = 1;

	while (rc > 0) {
		struct buf piece = { 0 };

		rc = s->next(s->ctx, &piece, err);
		if (rc == ERR_AGAIN && piece.len)
			rc = 1;
		else if (rc == ERR_AGAIN)
			rc = err_set(
				err, ERR_LIMIT,
				"the query needs more memory than --query.memory allows");
		if (rc >= 0 && !r->sink)
			buf_add(body, piece.ptr, piece.len);
		else if (rc >= 0 && !r->sink(r->sink_ctx, buf_bytes(&piece)))
			rc = err_set(err, ERR_CLOSED, "the output was closed");
		buf_fini(&piece);
	}
	return rc;
}

/* Keep a header of which struct local_answer has the value. */
static void local_take_header(const char *name, const char *value,
			      struct local_answer *out)
{
	const struct {
		const char *name;
		struct buf *value;
	} kept[] = {
		{ "X-Everprof-Warning", &out->warning },
		{ "X-Everprof-Labels", &out->labels },
		{ "X-Everprof-Timestamp", &out->timestamp },
	};

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		if (!strcmp(name, kept[i].name))
			buf_str(kept[i].value, value);
	}
}

/* Run the handler and collect its answer. */
static int local_handle(struct web *w, const struct route *route,
			struct request *r, const struct local_request *from,
			struct local_answer *out, struct err *err)
{
	struct answer a = { .body = buf_init((size_t)w->memory.max) };
	int rc = 0;

	a.work = (struct query_work){
		.memory = &w->memory,
		.output = &a.body,
		.timeout_name = "--timeout",
		.deadline_ns = clock_mono_ns() + w->o.query_timeout_ms * 1000000
	};
	route->handle(w, r, &a);
	if (a.body.over)
		rc = err_set(
			err, ERR_LIMIT,
			"the response is larger than the %zu bytes of --query.memory",
			buf_limit(&a.body));
	out->status = a.status;
	for (size_t i = 0; i < a.header_count; i++)
		local_take_header(a.headers[i].name, a.headers[i].value, out);
	if (!rc && a.stream.next)
		rc = local_drain(&a.stream, from, &out->body, err);
	if (a.stream.free)
		a.stream.free(a.stream.ctx);
	/*
	 * The body of an answer that is not a stream: a report, which goes to
	 * the sink, or an error, which does not.
	 */
	if (!rc && a.body.len && from->sink && a.status == 200) {
		if (!from->sink(from->sink_ctx, buf_bytes(&a.body)))
			rc = err_set(err, ERR_CLOSED, "the output was closed");
	} else if (!rc && a.body.len) {
		buf_add(&out->body, a.body.ptr, a.body.len);
	}
	query_release(&a.work);
	buf_fini(&a.body);
	return rc;
}

int local_ask(const struct web_options *o, const struct local_request *from,
	      struct local_answer *out, struct err *err)
{
	struct web w = { .o = *o,
			 .started_ms = clock_ms(NULL),
			 .memory = { .name = "query.memory",
				     .max = o->query_memory },
			 .ready = true };
	static const struct identity self = { .scopes = SCOPE_ALL };
	struct request r = {
		.who = &self, .origin = "", .session = "", .session_cookie = ""
	};
	const struct route *route = NULL;
	int rc = local_parse(from->target, &r, err);

	*out = (struct local_answer){ 0 };
	if (!rc)
		route = route_find(web_routes, str_of("GET"), r.path,
				   &r.segment);
	if (!rc && (!route || route->kind != ROUTE_READ))
		rc = err_set(err, ERR_INVALID,
			     "%.*s needs a running server (--server)",
			     STR_ARG(r.path));
	if (!rc && route)
		rc = local_handle(&w, route, &r, from, out, err);
	arena_fini(&r.arena);
	return rc;
}
