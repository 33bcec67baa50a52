/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers for the sessions of browsers: they show who is signed in, sign a
 * user in, and sign a user out.
 */
#include "web/api/api.h"

#include "web/api/context.h"
#include "web/api/envelope.h"
#include "web/auth/auth.h"
#include "web/auth/sessions.h"

void api_session(void *ctx, struct request *r, struct answer *a)
{
	struct web *w = ctx;
	struct json j = envelope_begin(a);

	json_begin(&j, '{');
	json_key(&j, "user");
	json_text(&j, r->who->name);
	json_key(&j, "required");
	json_bool(&j, !auth_is_open(w->auth));
	json_key(&j, "session");
	json_bool(&j, r->who->in_session);
	json_key(&j, "scopes");
	json_begin(&j, '[');
	if (r->who->scopes & SCOPE_READ)
		json_text(&j, "read");
	if (r->who->scopes & SCOPE_WRITE)
		json_text(&j, "write");
	if (r->who->scopes & SCOPE_ADMIN)
		json_text(&j, "admin");
	json_end(&j, ']');
	json_end(&j, '}');
	envelope_end(&j, a, NULL);
}

/*
 * Set the cookie. Scripts cannot read it, and browsers do not send it with
 * requests of other sites. The attribute "Secure" makes browsers send the
 * cookie only over TLS. The attribute is left out if the browser uses this page
 * without TLS, because the browser would then not keep the cookie.
 */
static void set_cookie(struct request *r, struct answer *a, const char *text,
		       int seconds)
{
	bool plain = str_starts(str_of(r->origin), str_of("http://"));

	answer_header(a, "Set-Cookie",
		      arena_printf(&r->arena,
				   "%s=%s; Path=/; Max-Age=%d; HttpOnly; "
				   "SameSite=Strict%s",
				   r->session_cookie, text, seconds,
				   plain ? "" : "; Secure"));
	a->status = 204;
	a->content_type = "text/plain; charset=utf-8";
}

void api_session_begin(void *ctx, struct request *r, struct answer *a)
{
	struct web *w = ctx;
	char text[AUTH_SESSION_LEN + 1];
	struct err err;

	if (auth_begin_session(w->auth, r->who, text, &err))
		answer_error(a, &err);
	else
		set_cookie(r, a, text, SESSION_AGE_SECONDS);
	explicit_bzero(text, sizeof(text));
}

void api_session_end(void *ctx, struct request *r, struct answer *a)
{
	struct web *w = ctx;

	auth_end_session(w->auth, r->session);
	set_cookie(r, a, "", 0);
}
