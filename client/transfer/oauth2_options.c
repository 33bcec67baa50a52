/* SPDX-License-Identifier: Apache-2.0 */
#include "client/transfer/oauth2_options.h"

#include <stddef.h>
#include <strings.h>

#include "base/mem.h"
#include "client/address/endpoint.h"
#include "client/transfer/http_options.h"
#include "client/transfer/http_options_private.h"

/* Decodes the list of OAuth 2 scopes. */
static void http_options_decode_scopes(struct yaml *y,
				       const struct yaml_node *n, void *field)
{
	struct http_oauth2 *a = field;

	if (!yaml_expect(y, n, YAML_LIST, "scopes"))
		return;
	a->scopes = arena_array(&y->arena, struct str, n->count);
	for (size_t i = 0; i < n->count; i++) {
		struct str *s = &a->scopes[a->scope_count++];

		*s = str_of("");
		yaml_text(y, n->items[i], s);
	}
}

void http_decode_url(struct yaml *y, const struct yaml_node *n, void *url)
{
	static const char *const schemes[] = { "http://", "https://", NULL };

	http_options_decode_url(y, n, schemes, url);
}

/*
 * Decodes a map {name: value} of additional form fields. All of them are
 * treated as secrets, because some servers expect credentials in them.
 */
static void decode_endpoint_params(struct yaml *y, const struct yaml_node *n,
				   void *field)
{
	struct http_oauth2 *a = field;

	if (!yaml_expect(y, n, YAML_MAP, "endpoint_params"))
		return;
	yaml_unique_keys(y, n);
	for (size_t i = 0; i < n->count; i += 2)
		yaml_secret(y, n->items[i + 1],
			    &http_options_add_header(y, &a->params,
						     n->items[i]->text)
				     ->value.text);
}

/* Requests for tokens have their own options for TLS and proxies. */
void http_decode_oauth2(struct yaml *y, const struct yaml_node *n,
			void *options)
{
	static const struct yaml_field fields[] = {
		{ "client_id", yaml_text,
		  offsetof(struct http_oauth2, client_id), NULL },
		{ "client_secret", yaml_secret,
		  offsetof(struct http_oauth2, client_secret.text), NULL },
		{ "client_secret_file", http_options_decode_file,
		  offsetof(struct http_oauth2, client_secret.file), NULL },
		{ "scopes", http_options_decode_scopes, 0, NULL },
		{ "token_url", http_decode_url,
		  offsetof(struct http_oauth2, token_url), NULL },
		{ "endpoint_params", decode_endpoint_params, 0, NULL },
		HTTP_TRANSPORT_FIELDS(struct http_oauth2, http),
		{ 0 },
	};
	struct http_options *o = options;
	struct http_oauth2 *a = arena_new(&y->arena, struct http_oauth2);

	http_options_set_auth(y, n, o, HTTP_AUTH_OAUTH2);
	http_options_init(&a->http);
	o->oauth2 = a;
	yaml_decode(y, n, "oauth2", fields, a);
	http_options_check_one(y, n, &a->client_secret, "client_secret");
	if (n->kind == YAML_MAP && (!a->client_id.len || !a->token_url.len))
		yaml_error(y, n, "oauth2 requires client_id and token_url");
	http_options_check(y, n, &a->http);
}
