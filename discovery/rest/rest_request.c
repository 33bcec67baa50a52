/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/rest/rest_request.h"

#include "base/mem.h"
#include "base/yaml.h"
#include "discovery/rest/rest_config.h"

void rest_request_fini(struct rest_request *q)
{
	for (size_t i = 0; i < q->headers.count; i++)
		mem_forget(q->headers.v[i]);
	vec_fini(&q->headers);
	buf_forget(&q->url);
	buf_forget(&q->body);
	*q = (struct rest_request){ 0 };
}

void rest_header_add(struct rest_request *q, const char *name, struct str value)
{
	*vec_add(&q->headers) = mem_printf("%s: %.*s", name, STR_ARG(value));
}

void rest_request_start(struct rest_request *q, struct provider *p,
			struct http_config *http, int64_t timeout_ms,
			http_done_fn done, void *ctx)
{
	struct http_request r = { .url = buf_cstr(&q->url),
				  .config = q->is_local ? NULL : http,
				  .timeout_ms = timeout_ms,
				  .max_body = YAML_TEXT_MAX,
				  .user_agent = p->user_agent,
				  .method = q->method,
				  .username = q->key_id,
				  .password = q->secret_key,
				  .aws_scope = q->aws_scope,
				  .has_secret = q->has_secret,
				  .keep_headers = true,
				  .done = done,
				  .ctx = ctx };
	const struct rest_config *c = (const struct rest_config *)p->config;

	if (q->body.len || q->method)
		r.post = buf_cstr(&q->body);
	if (c->socket.len && !q->is_local)
		r.unix_socket = c->socket.ptr;
	*vec_add(&q->headers) = NULL;
	r.headers = (const char *const *)q->headers.v;
	transfer_start(p->client, &r);
}
