/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The API for pushed profiles: POST /ingest, by which Pyroscope's older SDKs
 * send profiles, and the method Push of push.v1.PusherService, by which newer
 * ones and Grafana Alloy do. Answers and errors have the form that the clients
 * expect.
 */
#include "web/api/api.h"

#include "web/api/context.h"
#include "web/api/envelope.h"

/* Return a parameter; empty when it is missing. */
static struct str api_push_param(const struct request *r, const char *name)
{
	struct str value = { .len = 0 };

	(void)params_find(&r->params, name, &value);
	return value;
}

/* Store the profiles of a request. */
static int api_push_take(const struct web *w, struct request *r,
			 enum web_push_protocol protocol, struct err *err)
{
	const struct web_pusher *pusher = &w->o.pusher;
	const struct web_push in = {
		.protocol = protocol,
		.content_type = r->content_type,
		.content_encoding = r->content_encoding,
		.address = str_of(r->peer),
		.name = api_push_param(r, "name"),
		.from = api_push_param(r, "from"),
		.format = api_push_param(r, "format"),
		.spy = api_push_param(r, "spyName"),
		.body = r->body,
		.share = &r->share,
		.deadline_ns = r->deadline_ns,
	};

	if (!pusher->enabled)
		return err_set(
			err, ERR_NOTFOUND,
			"pushing profiles is disabled: start everprof with --web.enable-push-receiver");
	return pusher->take(pusher->ctx, &in, err);
}

void api_ingest(void *ctx, struct request *r, struct answer *a)
{
	struct err err;

	if (api_push_take(ctx, r, WEB_PUSH_INGEST, &err))
		answer_plain_error(a, &err);
	else
		/* Pyroscope's Go client takes any other status for an error. */
		answer_text(a, 200, "text/plain; charset=utf-8", str_of(""));
}

void api_push(void *ctx, struct request *r, struct answer *a)
{
	struct err err;

	if (api_push_take(ctx, r, WEB_PUSH_V1, &err))
		answer_connect_error(a, &err);
	else
		/* The message push.v1.PushResponse, which has no fields. */
		answer_text(a, 200, "application/proto", str_of(""));
}
