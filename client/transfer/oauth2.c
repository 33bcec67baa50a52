/* SPDX-License-Identifier: Apache-2.0 */
#include "client/transfer/oauth2.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/url.h"
#include "base/vec.h"
#include "base/yaml_json.h"
#include "client/transfer/http_config.h"
#include "client/transfer/http_status.h"

/* time limit of a request to token_url, in ms */
#define TOKEN_TIMEOUT_MS 10000
#define ANSWER_MAX       (64 * KIB) /* limit on the response in bytes */
/* a token is renewed this long before it expires, in ns */
#define EARLY_NS (10 * 1000000000LL)
/*
 * longest lifetime of a token in seconds, and the default if the server states
 * none
 */
#define LIFE_MAX_S  (24LL * 3600)
#define RETRY_NS    (1 * 1000000000LL) /* pause after a failed fetch, in ns */
#define FORM        "Content-Type: application/x-www-form-urlencoded"
#define ACCEPT_JSON "Accept: application/json"

/* A caller that waits for the token being fetched. */
struct waiter {
	oauth2_fn fn;
	void *ctx;
};

/*
 * A source of OAuth 2 tokens: its settings, the current token, and the callers
 * that wait for a token.
 */
struct oauth2 {
	char *id;
	struct http_loaded secret;
	char *url;
	/* body of the request to token_url, without credentials */
	char *form;
	struct http_config *http; /* options of requests to token_url */
	bool in_body; /* send id and secret in the body, not in a header */
	/* a token was granted, so `in_body` is what the server accepts */
	bool settled;

	char *value; /* the token as "Bearer …"; NULL: there is no token */
	int64_t ends_ns; /* when the token is to be renewed, in ns */
	bool fetching;
	int64_t timeout_ms;
	char *user_agent;
	struct http_client *client;
	/* reference to the configuration, held while fetching */
	struct http_config *owner;
	struct err err;          /* why the last fetch failed */
	int64_t failed_until_ns; /* no new fetch before this time; in ns */
	VEC(struct waiter) waiters;
};

/* Append NAME=VALUE to a form, with VALUE escaped. */
static void add_field(struct buf *form, const char *name, struct str value)
{
	if (form->len)
		buf_byte(form, '&');
	buf_printf(form, "%s=", name);
	url_escape(value, form);
}

/*
 * Return the body of a request for a token, without the credentials.
 * oauth2_fetch() adds the credentials.
 */
static char *make_form(const struct http_oauth2 *a)
{
	struct buf form = { 0 };
	struct buf scopes = { 0 };
	char *out;

	add_field(&form, "grant_type", str_of("client_credentials"));
	for (size_t i = 0; i < a->scope_count; i++)
		buf_printf(&scopes, "%s%.*s", i ? " " : "",
			   STR_ARG(a->scopes[i]));
	if (scopes.len)
		add_field(&form, "scope", str_from(buf_bytes(&scopes)));
	for (size_t i = 0; i < a->params.count; i++) {
		buf_byte(&form, '&');
		url_escape(a->params.v[i].name, &form);
		buf_byte(&form, '=');
		url_escape(a->params.v[i].value.text, &form);
	}
	out = mem_strdup(buf_cstr(&form));
	buf_fini(&form);
	buf_fini(&scopes);
	return out;
}

struct oauth2 *oauth2_new(const struct http_oauth2 *a)
{
	struct oauth2 *o = mem_new(struct oauth2);

	o->id = mem_strndup(a->client_id);
	http_loaded_init(&o->secret, &a->client_secret);
	o->url = mem_strndup(a->token_url);
	o->form = make_form(a);
	o->http = http_config_new(&a->http);
	return o;
}

/* Wipe the token from memory. */
static void drop_value(struct oauth2 *o)
{
	mem_forget(o->value);
	o->value = NULL;
}

void oauth2_free(struct oauth2 *o)
{
	if (!o)
		return;
	drop_value(o);
	http_loaded_fini(&o->secret);
	http_config_unref(o->http);
	mem_free(o->id);
	mem_free(o->url);
	mem_free(o->form);
	mem_free(o->user_agent);
	vec_fini(&o->waiters);
	mem_free(o);
}

void oauth2_expire(struct oauth2 *o)
{
	drop_value(o);
}

void oauth2_forget(struct oauth2 *o, const void *ctx)
{
	for (size_t i = o->waiters.count; i-- > 0;) {
		if (o->waiters.v[i].ctx == ctx)
			o->waiters.v[i] = o->waiters.v[--o->waiters.count];
	}
}

/*
 * Pass the token or the error to all waiting callers. A callback may ask for
 * a token again or withdraw other callers, so each caller is removed from the
 * list before its callback runs.
 */
static void oauth2_log(struct oauth2 *o, const struct err *err)
{
	while (o->waiters.count) {
		struct waiter w = o->waiters.v[--o->waiters.count];

		w.fn(w.ctx, err ? NULL : o->value, err);
	}
}

/*
 * Return for how many seconds a token may be used: expires_in, or LIFE_MAX_S
 * if the response has no valid expires_in. If a server refuses the token
 * earlier, oauth2_expire() drops it.
 */
static int64_t life_of(const struct yaml_node *root)
{
	const struct yaml_node *n = yaml_child(root, "expires_in");
	int64_t s;

	if (!n || n->kind != YAML_SCALAR || !str_to_i64(n->text, &s) || s < 0 ||
	    s > LIFE_MAX_S)
		return LIFE_MAX_S;
	return s;
}

/*
 * Return whether a text may be part of a header: it is not empty and contains
 * neither blanks nor control characters.
 */
static bool is_line(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		if ((unsigned char)s.ptr[i] <= ' ' || s.ptr[i] == 0x7f)
			return false;
	}
	return s.len;
}

/*
 * Return the token type for the Authorization header. "bearer" is replaced by
 * "Bearer", because some targets accept only the capitalized form.
 */
static struct str type_of(const struct yaml_node *root)
{
	const struct yaml_node *n = yaml_child(root, "token_type");

	if (!n || n->kind != YAML_SCALAR || !is_line(n->text) ||
	    str_is_nocase(n->text, "bearer"))
		return str_of("Bearer");
	return n->text;
}

/* Read the token from a JSON response and replace the old one. */
static int take_token(struct oauth2 *o, struct bytes body, struct err *err)
{
	const struct yaml_node *token = NULL;
	struct yaml y;
	int rc = 0;

	yaml_parse_json(&y, "token", body);
	if (y.root)
		token = yaml_child(y.root, "access_token");
	if (!token || token->kind != YAML_SCALAR || !is_line(token->text)) {
		rc = err_set(
			err, ERR_INVALID,
			"oauth2: the response of token_url has no usable access_token: it must be JSON with a field access_token without blanks and line ends; is token_url the token endpoint?");
	} else {
		drop_value(o);
		o->value = mem_printf("%.*s %.*s", STR_ARG(type_of(y.root)),
				      STR_ARG(token->text));
		o->ends_ns = clock_mono_ns() + life_of(y.root) * 1000000000 -
			     EARLY_NS;
	}
	yaml_fini(&y);
	return rc;
}

static void oauth2_fetch(struct oauth2 *o);

/*
 * Take the token from the response of the token endpoint. Returns ERR_DENIED
 * for a status other than 200.
 */
static int read_answer(struct oauth2 *o, const struct http_response *r,
		       struct err *err)
{
	int rc = http_status_check(r, err);

	if (rc)
		return err_wrap(err, r->code ? r->code : ERR_DENIED,
				"oauth2: the request to token_url failed");
	return take_token(o, buf_bytes(&r->body), err);
}

/*
 * Called when a fetch has ended. If the server refuses credentials in a header
 * and has never granted a token, the fetch is repeated once with the
 * credentials in the body (RFC 6749 2.3.1).
 */
static void oauth2_on_fetched(void *ctx, struct http_response *r)
{
	struct oauth2 *o = ctx;
	struct http_config *owner = o->owner;
	bool refused = !r->code && (r->status == 400 || r->status == 401);
	struct err err;
	int rc;

	if (refused && !o->settled && !o->in_body) {
		o->in_body = true;
		oauth2_fetch(o);
		return;
	}
	rc = read_answer(o, r, &err);
	o->settled |= !rc;
	if (rc) {
		o->err = err;
		o->failed_until_ns = clock_mono_ns() + RETRY_NS;
		/*
		 * If no token was ever granted, the next fetch tries the
		 * credentials in a header again.
		 */
		o->in_body = o->settled && o->in_body;
	}
	o->fetching = false;
	o->owner = NULL;
	oauth2_log(o, rc ? &err : NULL);
	http_config_unref(owner); /* this may free o */
}

/*
 * Return a form-encoded copy of the client's id or secret. RFC 6749 2.3.1
 * demands this encoding even in the Authorization header.
 */
static char *oauth2_needs_escape(const char *text)
{
	struct buf out = { 0 };
	char *copy;

	url_escape(str_of(text), &out);
	copy = mem_strdup(buf_cstr(&out));
	buf_fini(&out);
	return copy;
}

/*
 * Start a request for a token. transfer_start() copies all strings, so this
 * function wipes its strings that contain the secret.
 */
static void oauth2_fetch(struct oauth2 *o)
{
	static const char *const headers[] = { FORM, ACCEPT_JSON, NULL };
	struct buf form = { 0 };
	char *id = oauth2_needs_escape(o->id);
	char *secret =
		oauth2_needs_escape(o->secret.text ? o->secret.text : "");
	struct http_request r = { .url = o->url,
				  .config = o->http,
				  .timeout_ms = o->timeout_ms,
				  .max_body = ANSWER_MAX,
				  .user_agent = o->user_agent,
				  .headers = headers,
				  .has_secret = true,
				  .done = oauth2_on_fetched,
				  .ctx = o };

	buf_str(&form, o->form);
	if (o->in_body) {
		buf_printf(&form, "&client_id=%s&client_secret=%s", id, secret);
	} else {
		r.username = id;
		r.password = secret;
	}
	r.post = buf_cstr(&form);
	transfer_start(o->client, &r);
	buf_forget(&form);
	mem_free(id);
	mem_forget(secret);
}

void oauth2_ask(struct oauth2 *o, struct http_config *owner,
		struct http_client *c, const struct http_request *like,
		oauth2_fn fn, void *ctx)
{
	int64_t now = clock_mono_ns();
	struct err err;

	if (o->value && now < o->ends_ns) {
		fn(ctx, o->value, NULL);
		return;
	}
	/*
	 * Many transfers share one token, so a fetch that has failed is not
	 * repeated for each transfer.
	 */
	if (!o->fetching && now < o->failed_until_ns) {
		err = o->err;
		fn(ctx, NULL, &err);
		return;
	}
	if (!o->fetching &&
	    http_loaded_line(&o->secret, "oauth2.client_secret",
			     "oauth2.client_secret_file", &err)) {
		fn(ctx, NULL, &err);
		return;
	}
	*vec_add(&o->waiters) = (struct waiter){ fn, ctx };
	if (o->fetching)
		return;
	o->fetching = true;
	o->client = c;
	/*
	 * The fetch has a time limit of its own, because several callers with
	 * different deadlines wait for it.
	 */
	o->timeout_ms = TOKEN_TIMEOUT_MS;
	mem_free(o->user_agent);
	o->user_agent = mem_strdup(like->user_agent);
	o->owner = http_config_ref(owner);
	oauth2_fetch(o);
}
