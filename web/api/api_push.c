/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The API for pushed profiles: POST /ingest, by which Pyroscope's older SDKs send
 * profiles, the method Push of push.v1.PusherService, by which newer ones and Grafana
 * Alloy do, OpenTelemetry's protocol, and that of Datadog's agent. Answers and errors have the form that the
 * clients expect. GET /api/v1/senders lists those who have sent profiles.
 */
#include "web/api/api.h"

#include "convert/otlp/otlp_json.h"
#include "web/api/context.h"
#include "web/api/envelope.h"
#include "web/auth/auth.h"

/* Return a parameter; empty when it is missing. */
static struct str api_push_param(const struct request *r, const char *name)
{
	struct str value = { .len = 0 };

	(void)params_find(&r->params, name, &value);
	return value;
}

/* Return who sends a request, and how. */
static struct web_push api_push_sender(const struct request *r,
				       enum web_push_protocol protocol)
{
	return (struct web_push){ .protocol = protocol,
				  .content_type = r->content_type,
				  .content_encoding = r->content_encoding,
				  .address = str_of(r->peer),
				  .agent = str_of(r->user_agent),
				  .user = str_of(r->who->name) };
}

void api_push_note_refused(const struct web *w, const struct request *r,
			   enum web_push_protocol protocol,
			   const struct err *err)
{
	const struct web_push in = api_push_sender(r, protocol);

	if (w->o.pusher.enabled)
		w->o.pusher.refused(w->o.pusher.ctx, &in, err->msg);
}

/* Store the profiles of a request. */
static int api_push_take(const struct web *w, struct request *r,
			 enum web_push_protocol protocol, uint64_t *refused,
			 struct err *err)
{
	const struct web_pusher *pusher = &w->o.pusher;
	struct web_push in = api_push_sender(r, protocol);

	in.name = api_push_param(r, "name");
	in.from = api_push_param(r, "from");
	in.until = api_push_param(r, "until");
	in.rate = api_push_param(r, "sampleRate");
	in.format = api_push_param(r, "format");
	in.spy = api_push_param(r, "spyName");
	in.body = r->body;
	in.share = &r->share;
	in.deadline_ns = r->deadline_ns;
	in.refused = refused;
	if (!pusher->enabled)
		return err_set(
			err, ERR_NOTFOUND,
			"pushing profiles is disabled: start everprof with --web.enable-push-receiver");
	return pusher->take(pusher->ctx, &in, err);
}

void api_ingest(void *ctx, struct request *r, struct answer *a)
{
	struct err err;

	if (api_push_take(ctx, r, WEB_PUSH_INGEST, NULL, &err))
		answer_plain_error(a, &err);
	else
		/* Pyroscope's Go client takes any other status for an error. */
		answer_text(a, 200, "text/plain; charset=utf-8", str_of(""));
}

void api_datadog(void *ctx, struct request *r, struct answer *a)
{
	struct err err;

	if (api_push_take(ctx, r, WEB_PUSH_DATADOG, NULL, &err))
		answer_plain_error(a, &err);
	else
		answer_text(a, 200, "text/plain; charset=utf-8", str_of(""));
}

/* Answer with the message PushResponse in the format of the request. */
static void api_push_succeed(const struct request *r, struct answer *a)
{
	if (str_starts(str_of(r->content_type), str_of("application/json")))
		answer_text(a, 200, "application/json", str_of("{}"));
	else
		answer_text(a, 200, "application/proto", str_of(""));
}

void api_push(void *ctx, struct request *r, struct answer *a)
{
	struct err err;

	if (api_push_take(ctx, r, WEB_PUSH_V1, NULL, &err))
		answer_connect_error(a, &err);
	else
		api_push_succeed(r, a);
}

/*
 * Return the type of the answer to a request of OTLP: that of the request, or JSON if
 * that is not known.
 */
static const char *api_push_otlp_type(const struct request *r, bool *is_json)
{
	struct err unwanted;

	if (otlp_json_format(r->content_type, is_json, &unwanted)) {
		*is_json = true;
		return "application/json";
	}
	if (*is_json)
		return "application/json";
	return str_starts(str_of(r->content_type),
			  str_of("application/protobuf")) ?
		       "application/protobuf" :
		       "application/x-protobuf";
}

void api_otlp_fail(const struct request *r, struct answer *a,
		   const struct err *err)
{
	bool is_json;
	const char *type = api_push_otlp_type(r, &is_json);

	answer_otlp_error(a, err, is_json, type);
}

bool api_push_is_partial(int rc, uint64_t refused)
{
	return !rc || (rc == ERR_CORRUPT && refused);
}

void api_otlp(void *ctx, struct request *r, struct answer *a)
{
	uint64_t refused = 0;
	bool is_json;
	const char *type = api_push_otlp_type(r, &is_json);
	struct err err;
	int rc = api_push_take(ctx, r, WEB_PUSH_OTLP, &refused, &err);

	if (!api_push_is_partial(rc, refused)) {
		answer_otlp_error(a, &err, is_json, type);
		return;
	}
	answer_text(a, 200, type, str_of(""));
	otlp_json_answer(rc ? refused : 0, str_of(rc ? err.msg : ""), is_json,
			 &a->body);
}

/* Callback for each sender: write it as an object. */
static void api_push_write_sender(void *arg, const struct web_push_sender *s)
{
	struct json *j = arg;

	json_begin(j, '{');
	json_key(j, "protocol");
	json_text(j, s->protocol);
	json_key(j, "service");
	json_text(j, s->service);
	json_key(j, "userAgent");
	json_text(j, s->agent);
	json_key(j, "user");
	json_text(j, s->user);
	json_key(j, "address");
	json_text(j, s->address);
	json_key(j, "stored");
	json_int(j, (int64_t)s->stored);
	json_key(j, "dropped");
	json_int(j, (int64_t)s->dropped);
	json_key(j, "refused");
	json_int(j, (int64_t)s->refused);
	json_key(j, "delayed");
	json_int(j, (int64_t)s->delayed);
	envelope_time(j, "first", s->first_ms);
	envelope_time(j, "last", s->last_ms);
	json_key(j, "lastError");
	json_text(j, s->why);
	envelope_time(j, "lastErrorTime", s->why_ms);
	json_end(j, '}');
}

void api_senders(void *ctx, struct request *r UNUSED, struct answer *a)
{
	const struct web *w = ctx;
	const struct web_pusher *pusher = &w->o.pusher;
	struct json j = envelope_begin(a);

	json_begin(&j, '{');
	json_key(&j, "enabled");
	json_bool(&j, pusher->enabled || w->o.grpc_address);
	json_key(&j, "senders");
	json_begin(&j, '[');
	if (pusher->each)
		pusher->each(pusher->ctx, api_push_write_sender, &j);
	json_end(&j, ']');
	json_end(&j, '}');
	envelope_end(&j, a, NULL);
}
