/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_sd_configs: target groups as JSON from a URL, requested every
 * refresh_interval.
 *
 * Source: prometheus.io/docs/prometheus/latest/http_sd.
 */
#include "discovery/http/http_sd.h"

#include <stdio.h>
#include <strings.h>

#include "base/hash.h"
#include "base/mem.h"
#include "client/address/endpoint.h"
#include "client/transfer/http_config.h"
#include "client/transfer/http_status.h"
#include "discovery/core/kinds.h"

/* The data of an HTTP provider. */
struct http_source {
	char *url;
	char *shown; /* result of endpoint_url_shown() for `url` */
	/* value of the label __meta_url: `url` without user and password */
	char *label;
	char *interval; /* header line with the refresh interval */
	struct http_config *config;
	/* hash of the body that was parsed last without errors */
	uint64_t hash;
	bool running; /* whether a request is in flight */
};

/*
 * Copy what requests need from the configuration. The refresh interval is sent
 * in the same header as in Prometheus' requests.
 */
static void *source_open(struct provider *p)
{
	const struct http_sd_config *c =
		(const struct http_sd_config *)p->config;
	struct http_source *s = mem_new(struct http_source);

	s->url = mem_strndup(c->url);
	s->shown = endpoint_url_shown(s->url);
	s->label = endpoint_without_user(s->url);
	s->config = http_config_new(&c->base.http);
	s->interval = mem_printf("X-Prometheus-Refresh-Interval-Seconds: %g",
				 (double)c->base.refresh_ms / 1000);
	return s;
}

/* Return whether a content type is JSON, with or without parameters. */
static bool http_sd_is_json(const char *type)
{
	static const char want[] = "application/json";
	size_t n = sizeof(want) - 1;

	return !strncasecmp(type, want, n) &&
	       (!type[n] || type[n] == ';' || type[n] == ' ');
}

/*
 * Check that a request has succeeded, with status 200 and the content type
 * JSON. Prometheus demands the same, but accepts no parameter of the content
 * type other than charset=utf-8.
 */
static int check_response(const struct http_response *r, struct err *err)
{
	int rc = http_status_check(r, err);

	if (rc)
		return rc;
	if (!http_sd_is_json(r->content_type))
		return err_set(
			err, ERR_INVALID,
			"unsupported content type \"%.100s\": expected application/json",
			r->content_type);
	return 0;
}

/*
 * Parse the body `text` and report its target groups. A body that equals the
 * last body parsed without errors is not parsed again, so that equal targets
 * are not reported to the jobs once more.
 */
static int http_sd_take(struct provider *p, struct http_source *s,
			struct bytes text, struct err *err)
{
	const struct group_meta meta = { TARGET_META_URL, str_of(s->label) };
	uint64_t hash = hash_bytes(text);
	struct target_groups *g;
	int rc;

	if (p->asked && hash == s->hash)
		return 0;
	rc = provider_parse(s->shown, text, true, &meta, &g, err);
	if (rc)
		return rc;
	s->hash = hash;
	provider_tell(p, s->shown, g);
	provider_found_one(p, g);
	return 0;
}

/*
 * Called when a request has ended; ERR_CLOSED only means that the provider is
 * being closed.
 */
static void http_sd_on_answer(void *ctx, struct http_response *r)
{
	struct provider *p = ctx;
	struct http_source *s = p->data;
	struct err err;
	int rc = check_response(r, &err);

	s->running = false;
	if (!rc)
		rc = http_sd_take(p, s, buf_bytes(&r->body), &err);
	if (rc == ERR_CLOSED)
		return;
	if (rc)
		provider_failed(p, s->shown, &err);
	provider_refreshed(p);
}

/*
 * Start a request, unless the previous one is still in flight. The timeout is
 * the refresh interval.
 */
static void source_refresh(struct provider *p)
{
	struct http_source *s = p->data;
	const char *const headers[] = { "Accept: application/json", s->interval,
					NULL };
	struct http_request r = { .url = s->url,
				  .config = s->config,
				  .timeout_ms = p->config->refresh_ms,
				  .max_body = YAML_TEXT_MAX,
				  .user_agent = p->user_agent,
				  .headers = headers,
				  .has_secret = endpoint_url_has_secret(
					  str_of(s->url)),
				  .done = http_sd_on_answer,
				  .ctx = p };

	if (s->running)
		return;
	s->running = true;
	transfer_start(p->client, &r);
}

/* Cancel the request before freeing what its callback uses. */
static void source_close(struct provider *p)
{
	struct http_source *s = p->data;

	http_cancel(p->client, p);
	http_config_unref(s->config);
	mem_free(s->url);
	mem_free(s->shown);
	mem_free(s->label);
	mem_free(s->interval);
	mem_free(s);
}

/* Report an entry without a URL. */
static void source_check(struct yaml *y, const struct yaml_node *entry,
			 struct discovery_config *base)
{
	const struct http_sd_config *c = (const struct http_sd_config *)base;

	if (!c->url.len)
		yaml_error(y, entry, "http_sd_config requires url");
}

static const struct yaml_field http_sd_fields[] = {
	{ "url", http_decode_url, offsetof(struct http_sd_config, url), NULL },
	DISCOVERY_HTTP_FIELDS,
	{ 0 },
};

const struct provider_kind provider_http = {
	.name = "http",
	.refresh_ms = 60000,
	.config_size = sizeof(struct http_sd_config),
	.fields = http_sd_fields,
	.check = source_check,
	.open = source_open,
	.refresh = source_refresh,
	.close = source_close,
};
