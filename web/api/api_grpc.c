/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods of the listener for gRPC: the method Export of OpenTelemetry's protocol for
 * profiles, and Check of gRPC's protocol for health.
 * Source: github.com/open-telemetry/opentelemetry-proto,
 * collector/profiles/v1development/profiles_service.proto; github.com/grpc/grpc,
 * doc/health-checking.md.
 */
#include "base/wire.h"
#include "base/wire_write.h"
#include "convert/otlp/otlp_json.h"
#include "web/api/api.h"

#define PROFILES_SERVICE \
	"opentelemetry.proto.collector.profiles.v1development.ProfilesService"

/* The numbers of the messages HealthCheckRequest and HealthCheckResponse. */
enum {
	REQUEST_SERVICE = 1,
	RESPONSE_STATUS = 1,
	STATUS_SERVING = 1,
	STATUS_NOT_SERVING = 2
};

/* Return who makes a call, and how. */
static struct web_push api_grpc_sender(const struct grpc_call *c)
{
	return (struct web_push){
		.protocol = WEB_PUSH_OTLP_GRPC,
		.content_type = "application/x-protobuf",
		.content_encoding = c->is_compressed ? c->encoding : "",
		.address = str_of(c->peer),
		.agent = str_of(c->agent),
		.user = str_of(c->who.name),
	};
}

static void api_grpc_export(void *ctx, struct grpc_call *c)
{
	const struct web_pusher *pusher = &((struct web *)ctx)->o.pusher;
	struct web_push in = api_grpc_sender(c);
	uint64_t refused = 0;
	struct err err;
	int rc;

	in.body = c->message;
	in.share = &c->share;
	in.deadline_ns = c->deadline_ns;
	in.refused = &refused;
	rc = pusher->take(pusher->ctx, &in, &err);
	if (!api_push_is_partial(rc, refused))
		grpc_call_fail(c, &err);
	else
		otlp_json_answer(rc ? refused : 0, str_of(rc ? err.msg : ""),
				 false, &c->answer);
}

/* Note a refused export in the list of senders. */
static void api_grpc_note_refused(void *ctx, const struct grpc_call *c)
{
	const struct web_pusher *pusher = &((struct web *)ctx)->o.pusher;
	const struct web_push in = api_grpc_sender(c);

	pusher->refused(pusher->ctx, &in, c->why);
}

/* Read the name of the service that a client asks for. */
static int api_grpc_service(const struct grpc_call *c, struct str *out,
			    struct err *err)
{
	struct wire w = wire_init(c->message);
	struct wire_field f;

	*out = (struct str){ NULL, 0 };
	while (wire_next(&w, &f)) {
		if (f.number == REQUEST_SERVICE && f.type == WIRE_BYTES)
			*out = str_from(f.bytes);
	}
	if (c->is_compressed)
		return err_set(err, ERR_UNSUPPORTED,
			       "send HealthCheckRequest without compression");
	if (w.bad)
		return err_set(err, ERR_INVALID,
			       "the request is no HealthCheckRequest");
	if (out->len && !str_is(*out, PROFILES_SERVICE))
		return err_set(
			err, ERR_NOTFOUND,
			"unknown service: use an empty name, or " PROFILES_SERVICE);
	return 0;
}

static void api_grpc_check(void *ctx, struct grpc_call *c)
{
	struct web *w = ctx;
	struct str service;
	struct err err;

	if (api_grpc_service(c, &service, &err))
		grpc_call_fail(c, &err);
	else
		wire_write_number(&c->answer, RESPONSE_STATUS,
				  atomic_load(&w->ready) ? STATUS_SERVING :
							   STATUS_NOT_SERVING);
}

const struct grpc_method api_grpc_methods[] = {
	{ .path = "/" PROFILES_SERVICE "/Export",
	  .handle = api_grpc_export,
	  .refused = api_grpc_note_refused,
	  .scope = SCOPE_WRITE },
	/* Probes of Kubernetes have no credentials. */
	{ .path = "/grpc.health.v1.Health/Check",
	  .handle = api_grpc_check,
	  .is_open = true },
	{ .path = NULL },
};
