/* SPDX-License-Identifier: Apache-2.0 */
#include "web/grpc/grpc_access.h"

#include <string.h>
#include <strings.h>

#include "web/guard/hosts.h"

/* Fail a call with an error ERR_* and its message. */
static void grpc_access_refuse(struct grpc_call *c, int code, const char *why)
{
	struct err err;

	err_set(&err, code, "%s", why);
	grpc_call_fail(c, &err);
}

/* Refuse a request that is not gRPC, with a status of HTTP. */
static void grpc_access_refuse_form(struct grpc_call *c, unsigned status,
				    const char *why)
{
	grpc_access_refuse(c, ERR_INVALID, why);
	c->status = status;
}

/* Whether the message is one of protocol buffers. */
static bool grpc_access_is_grpc(const char *content_type)
{
	static const char type[] = "application/grpc";
	const char *rest = content_type + sizeof(type) - 1;

	if (strncasecmp(content_type, type, sizeof(type) - 1) != 0)
		return false;
	return !*rest || *rest == ';' || !strcasecmp(rest, "+proto");
}

static const struct grpc_method *
grpc_access_find(const struct grpc_method *methods, const char *path)
{
	for (const struct grpc_method *m = methods; m->path; m++) {
		if (!strcmp(m->path, path))
			return m;
	}
	return NULL;
}

/* Set the deadline of a call that has one. */
static void grpc_access_take_timeout(struct grpc_call *c, int64_t now_ns)
{
	struct err err;
	int64_t ns;

	if (!*c->timeout)
		return;
	if (grpc_code_timeout(c->timeout, &ns, &err))
		grpc_call_fail(c, &err);
	else
		c->deadline_ns = ns < INT64_MAX - now_ns ? now_ns + ns :
							   INT64_MAX;
}

/* Check the scope of a sender who is known, and whether there is such a method. */
static void grpc_access_judge_scope(struct grpc_call *c)
{
	if (!c->method)
		grpc_access_refuse(
			c, ERR_UNSUPPORTED,
			arena_printf(
				&c->arena,
				"unknown method %.200s: this listener takes profiles of OpenTelemetry only",
				c->path));
	else if ((c->who.scopes & c->method->scope) != c->method->scope)
		grpc_access_refuse(
			c, ERR_DENIED,
			arena_printf(
				&c->arena,
				"insufficient scope: this method needs the scope %s, which the user or token lacks",
				web_config_scope_text(c->method->scope)));
}

/* Act on the result of checking credentials: granted or refused. */
static void grpc_access_judge(struct grpc_call *c, enum auth_verdict v)
{
	if (v == AUTH_GRANTED)
		grpc_access_judge_scope(c);
	else
		grpc_access_refuse(
			c, ERR_UNAUTHORIZED,
			"authentication is required: send a valid user name and password, or a valid bearer token, in the header \"authorization\"");
}

/* Check what needs no knowledge of the sender. */
static void grpc_access_check_form(const struct grpc_access *a,
				   const struct grpc_caller *caller,
				   struct grpc_call *c, int64_t now_ns)
{
	struct err err;

	if (!limiter_pass(a->limiter, caller->address, now_ns))
		grpc_access_refuse(c, ERR_LIMIT, LIMITER_REFUSAL);
	else if (strcmp(c->http_method, "POST") != 0)
		grpc_access_refuse_form(c, 405,
					"method not allowed: gRPC uses POST");
	else if (!grpc_access_is_grpc(c->content_type))
		grpc_access_refuse_form(
			c, 415,
			"unsupported content-type: this listener takes application/grpc with protocol buffers");
	else if (!hosts_allow(a->allowed_hosts, c->authority))
		grpc_access_refuse(c, ERR_DENIED, HOSTS_REFUSAL);
	else if (caller->tls && auth_client(a->auth, caller->tls, &err))
		grpc_call_fail(c, &err);
	else if (c->has_two_authorizations)
		grpc_access_refuse(c, ERR_INVALID, AUTH_SPLIT_REFUSAL);
	else
		grpc_access_take_timeout(c, now_ns);
}

void grpc_access_check(const struct grpc_access *a,
		       const struct grpc_caller *caller, struct grpc_call *c,
		       int64_t now_ns)
{
	c->method = grpc_access_find(a->methods, c->path);
	grpc_access_check_form(a, caller, c, now_ns);
}

bool grpc_access_authenticate(const struct grpc_access *a, struct grpc_call *c)
{
	struct credentials credentials;
	enum auth_verdict v;

	if (c->is_answered || (c->method && c->method->is_open))
		return false;
	credentials = credentials_read(c->authorization, &c->arena);
	v = auth_check(a->auth, &credentials, &c->who);
	if (v != AUTH_SLOW)
		grpc_access_judge(c, v);
	return v == AUTH_SLOW;
}

bool grpc_access_verify(const struct grpc_access *a, struct client *client,
			struct grpc_call *c)
{
	struct credentials credentials =
		credentials_read(c->authorization, &c->arena);
	enum auth_verdict v =
		client_verify(client, a->auth, &credentials, &c->who);

	if (v != AUTH_BUSY)
		grpc_access_judge(c, v);
	return v != AUTH_BUSY;
}
