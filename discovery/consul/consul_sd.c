/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consul_sd_configs: services that Consul knows. The catalog and each selected
 * service have a watch, which sends blocking queries: Consul answers such a
 * query when something has changed, or after two minutes. The catalog is not
 * watched if the configuration names the services, and has no tags and no
 * filter.
 *
 * A watch starts its next query with the next refresh, or at once if its last
 * query has succeeded and took longer than the refresh interval. After an
 * error, a watch starts no query for RETRY_NS. The targets of a service stay
 * until an answer shows that they have changed.
 *
 * Source: developer.hashicorp.com/consul/api-docs, "Blocking Queries",
 * "Catalog", "Health", "Agent".
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/url.h"
#include "base/yaml_json.h"
#include "client/address/endpoint.h"
#include "client/transfer/http_config.h"
#include "client/transfer/http_status.h"
#include "discovery/consul/consul_config.h"
#include "discovery/consul/consul_health.h"
#include "discovery/consul/consul_services.h"
#include "discovery/core/kinds.h"
#include "discovery/rest/document.h"

#define WAIT_MS 120000 /* how long Consul may delay an answer */
/* timeout of a query: Consul may exceed WAIT_MS by up to one sixteenth */
#define TIMEOUT_MS 135000
#define RETRY_NS   15000000000LL
#define PUBLISH_MS 1000 /* changes within this time are reported together */
/*
 * how many times, at most, the first report is delayed by PUBLISH_MS because
 * services have not answered
 */
#define FIRST_WAITS 5
/*
 * how many queries one consul_call() starts at most; without this limit, a
 * large catalog could delay a reload or a stop
 */
#define STARTS_MAX 200

/* The data of a Consul provider. */
struct consul_source {
	struct http_config *http;
	char *shown;
	char *token;      /* header with the token; NULL: none */
	char *datacenter; /* NULL: not known yet */
	bool asking;      /* a query for the data center is in flight */
	struct consul_watch catalog;
	struct consul_services services;
	bool is_crowded;    /* more services are selected than can be watched */
	bool dirty;         /* targets have changed since they were reported */
	int64_t publish_ns; /* when the changes are to be reported */
	int waits;          /* how many times the first report was delayed */
};

static const struct consul_config *consul_config_of(const struct provider *p)
{
	return (const struct consul_config *)p->config;
}

/* Append a query parameter, unless its value is empty. */
static void consul_add_param(struct buf *url, const char *name,
			     struct str value)
{
	if (value.len)
		url_add_param(url, name, value);
}

/* Send a query. */
static void consul_send(struct provider *p, const char *url, http_done_fn done,
			void *ctx)
{
	const struct consul_source *s = p->data;
	const struct consul_config *c = consul_config_of(p);
	const char *const headers[] = { s->token, NULL };
	struct http_request r = { .url = url,
				  .config = s->http,
				  .timeout_ms = TIMEOUT_MS,
				  .max_body = YAML_TEXT_MAX,
				  .user_agent = p->user_agent,
				  .headers = headers,
				  .has_secret = s->token != NULL,
				  .keep_headers = true,
				  .done = done,
				  .ctx = ctx };

	if (c->socket.len)
		r.unix_socket = c->socket.ptr;
	transfer_start(p->client, &r);
}

/* Write the parameters of the query of a watch. */
static void add_watch_params(const struct consul_watch *w, struct buf *url)
{
	const struct consul_config *c = consul_config_of(w->p);

	consul_add_param(url, "dc", c->datacenter);
	consul_add_param(url, "ns", c->namespace);
	consul_add_param(url, "partition", c->partition);
	buf_printf(url, "%cwait=%dms",
		   memchr(url->ptr, '?', url->len) ? '&' : '?', WAIT_MS);
	if (c->allow_stale)
		buf_str(url, "&stale=");
	if (w->index)
		buf_printf(url, "&index=%llu", (unsigned long long)w->index);
	for (size_t i = 0; i < c->node_meta.count; i++)
		consul_add_param(url, "node-meta", c->node_meta.v[i]);
	for (size_t i = 0; w->service && i < c->tags.count; i++)
		consul_add_param(url, "tag", c->tags.v[i]);
	consul_add_param(url, "filter",
			 w->service ? c->health_filter : c->filter);
}

static void consul_on_answer(void *ctx, struct http_response *r);

/* Start the query of a watch. */
static void ask_watch(struct consul_watch *w)
{
	struct buf url = { 0 };

	buf_printf(&url, "%s/v1/%s", consul_config_of(w->p)->url.ptr,
		   w->service ? "health/service/" : "catalog/services");
	if (w->service)
		url_escape(str_of(w->service), &url);
	add_watch_params(w, &url);
	w->running = true;
	w->started_ns = clock_mono_ns();
	consul_send(w->p, buf_cstr(&url), consul_on_answer, w);
	buf_fini(&url);
}

/* Start the query of a watch, unless it is running or must wait. */
static void ask_idle_watch(struct consul_watch *w)
{
	if (!w->running && clock_mono_ns() >= w->retry_ns)
		ask_watch(w);
}

/*
 * Begin to watch a service, unless it is watched already or there are
 * CONSUL_SERVICES_MAX watches.
 */
static void watch_service(struct provider *p, struct str service)
{
	struct consul_source *s = p->data;
	struct consul_watch *w = consul_services_find(&s->services, service);

	if (!w) {
		w = consul_services_add(&s->services, p, service);
		s->is_crowded |= !w;
		provider_call_within(p, 0);
	}
	if (w)
		w->wanted = true;
}

/* Report as a failure that more services are selected than can be watched. */
static void consul_report_crowded(struct provider *p)
{
	const struct consul_source *s = p->data;
	struct err err;

	err_set(&err, ERR_LIMIT,
		"the configuration selects more than %d services, which is the limit; the others have no targets: select fewer with \"services\", \"tags\" or \"filter\"",
		CONSUL_SERVICES_MAX);
	provider_failed(p, s->shown, &err);
}

/* Delay the next report by PUBLISH_MS, to collect more changes. */
static void consul_publish_later(struct consul_source *s)
{
	s->publish_ns = clock_mono_ns() + PUBLISH_MS * 1000000LL;
}

/*
 * Note that targets have changed. All targets are reported PUBLISH_MS after the
 * first change since the last report. The first report of a provider may wait
 * longer; see consul_publish().
 */
static void consul_publish_soon(struct provider *p)
{
	struct consul_source *s = p->data;

	if (!s->dirty)
		consul_publish_later(s);
	s->dirty = true;
	if (p->call_ns == INT64_MAX)
		provider_call_within(p, PUBLISH_MS);
}

/*
 * Start at most STARTS_MAX of the queries that are due. Returns whether more
 * queries are due.
 */
static bool ask_some(struct consul_source *s)
{
	int started = 0;

	for (size_t i = 0; i < s->services.v.count; i++) {
		struct consul_watch *w = s->services.v.v[i];

		if (!w->is_due)
			continue;
		if (started == STARTS_MAX)
			return true;
		w->is_due = false;
		started++;
		ask_idle_watch(w);
	}
	return false;
}

/*
 * Report the targets of all services. The first report waits for missing
 * answers, at most FIRST_WAITS times.
 */
static void consul_publish(struct provider *p)
{
	struct consul_source *s = p->data;
	struct target_groups_list all = { 0 };

	if (!consul_services_are_known(&s->services) &&
	    s->waits < FIRST_WAITS) {
		s->waits++;
		consul_publish_later(s);
		return;
	}
	s->waits = FIRST_WAITS;
	s->dirty = false;
	consul_services_share(&s->services, &all);
	provider_found(p, &all);
	target_groups_list_fini(&all);
}

static void consul_call(struct provider *p)
{
	struct consul_source *s = p->data;
	bool are_left = ask_some(s);
	int64_t now = clock_mono_ns();

	if (s->dirty && now >= s->publish_ns)
		consul_publish(p);
	if (are_left)
		provider_call_within(p, 0);
	else if (s->dirty)
		provider_call_within(
			p, s->publish_ns > now ?
				   (s->publish_ns - now) / 1000000 + 1 :
				   0);
}

/* Stop watching the services that the catalog does not have any more. */
static void drop_unwanted(struct provider *p)
{
	struct consul_source *s = p->data;

	for (size_t i = s->services.v.count; i-- > 0;) {
		struct consul_watch *w = s->services.v.v[i];

		if (w->wanted)
			continue;
		provider_tell(p, w->service, NULL);
		consul_services_remove(&s->services, i);
		consul_publish_soon(p);
	}
}

/*
 * Watch the services of the catalog's answer that the configuration selects,
 * and stop watching those that the answer lacks.
 */
static int take_catalog(struct provider *p, struct bytes text, struct err *err)
{
	const struct consul_config *c = consul_config_of(p);
	struct consul_source *s = p->data;
	struct yaml y;
	int rc;

	yaml_parse_json(&y, "answer", text);
	rc = yaml_check(&y, err);
	if (!rc && y.root->kind != YAML_MAP)
		rc = err_set(err, ERR_INVALID,
			     "the catalog's answer is not an object in JSON");
	s->is_crowded = rc && s->is_crowded;
	for (size_t i = 0; i < s->services.v.count; i++)
		s->services.v.v[i]->wanted = rc;
	for (size_t i = 0; !rc && i < doc_keys(y.root); i++) {
		const struct yaml_node *tags;
		struct str name = doc_key(y.root, i, &tags);
		struct consul_watch *w =
			consul_services_find(&s->services, name);

		if (w)
			w->wanted = true;
		else if (consul_config_wants(c, name, tags))
			watch_service(p, name);
	}
	if (!rc && s->is_crowded)
		consul_report_crowded(p);
	if (!rc) {
		drop_unwanted(p);
		if (!s->services.v.count)
			consul_publish_soon(p);
	}
	yaml_fini(&y);
	return rc;
}

/*
 * Make the targets of a service from the answer `text`, and arrange that they
 * are reported.
 */
static int take_service(struct consul_watch *w, struct bytes text,
			struct err *err)
{
	struct consul_source *s = w->p->data;
	struct target_groups *groups = NULL;
	int rc = consul_health_parse(
		text, str_of(w->service), str_of(s->datacenter),
		consul_config_of(w->p)->tag_separator, &groups, err);

	if (rc)
		return rc;
	rc = consul_services_set(&s->services, w, groups, err);
	if (rc)
		return rc;
	provider_tell(w->p, w->service, groups);
	consul_publish_soon(w->p);
	return 0;
}

/* Return the index in the header X-Consul-Index of an answer; 0: none. */
static uint64_t index_of(const struct http_response *r)
{
	struct str text = http_response_header(r, "X-Consul-Index");
	int64_t index;

	return str_to_i64(text, &index) && index > 0 ? (uint64_t)index : 0;
}

/*
 * Use the answer to the query of a watch. An answer with the same index as the
 * last answer that was used has the same content, and is ignored.
 */
static int take_answer(struct consul_watch *w, struct http_response *r,
		       struct err *err)
{
	uint64_t index;
	int rc = http_status_check(r, err);

	if (rc)
		return rc;
	index = index_of(r);
	if (index && index == w->index)
		return 0;
	rc = w->service ? take_service(w, buf_bytes(&r->body), err) :
			  take_catalog(w->p, buf_bytes(&r->body), err);
	if (!rc)
		w->index = index;
	return rc;
}

/*
 * Called at the end of a query; ERR_CLOSED only means that the watch is being
 * dropped.
 */
static void consul_on_answer(void *ctx, struct http_response *r)
{
	struct consul_watch *w = ctx;
	struct provider *p = w->p;
	const struct consul_source *s = p->data;
	int64_t now = clock_mono_ns();
	struct err err;
	int rc;

	if (r->code == ERR_CLOSED)
		return;
	w->running = false;
	w->known = true;
	rc = take_answer(w, r, &err);
	w->is_failing = rc;
	if (!rc && *p->failure.source && !s->is_crowded &&
	    !s->catalog.is_failing &&
	    !consul_services_are_failing(&s->services))
		provider_recovered(p);
	if (rc) {
		w->retry_ns = now + RETRY_NS;
		provider_failed(w->p, w->service ? w->service : s->shown, &err);
	} else if (now - w->started_ns >= p->config->refresh_ms * 1000000) {
		ask_watch(w);
	}
}

/*
 * Start the query of the catalog, if it is used, and make the queries of all
 * services due.
 */
static void ask_all(struct provider *p)
{
	const struct consul_config *c = consul_config_of(p);
	struct consul_source *s = p->data;
	bool by_name = c->services.count && !c->tags.count && !c->filter.len;

	if (!by_name)
		ask_idle_watch(&s->catalog);
	for (size_t i = 0; i < s->services.v.count; i++)
		s->services.v.v[i]->is_due = true;
	if (s->services.v.count)
		provider_call_within(p, 0);
	/*
	 * With `by_name`, the services that the configuration names are watched
	 * without the catalog.
	 */
	if (by_name)
		s->is_crowded = false;
	for (size_t i = 0; by_name && i < c->services.count; i++)
		watch_service(p, c->services.v[i]);
	if (by_name && s->is_crowded)
		consul_report_crowded(p);
}

/* Called with the answer of the agent, which knows the data center. */
static void on_agent(void *ctx, struct http_response *r)
{
	struct provider *p = ctx;
	struct consul_source *s = p->data;
	struct err err;
	struct yaml y;
	int rc;

	if (r->code == ERR_CLOSED)
		return;
	s->asking = false;
	rc = http_status_check(r, &err);
	if (rc && r->status == 403)
		(void)err_wrap(
			&err, rc,
			"the agent does not tell its data center (give a token with agent:read, or set \"datacenter\")");
	if (!rc) {
		struct str name;

		yaml_parse_json(&y, "answer", buf_bytes(&r->body));
		name = doc_text(y.root, "Config.Datacenter");
		if (name.len)
			s->datacenter = mem_strndup(name);
		else
			rc = err_set(
				&err, ERR_INVALID,
				"the agent's answer does not name its data center: does \"server\" name a Consul agent? If so, set \"datacenter\"");
		yaml_fini(&y);
	}
	if (rc)
		provider_failed(p, s->shown, &err);
	else
		ask_all(p);
}

/* Ask the agent for its data center. */
static void ask_agent(struct provider *p)
{
	const struct consul_config *c = consul_config_of(p);
	struct consul_source *s = p->data;
	struct buf url = { 0 };

	if (s->asking)
		return;
	s->asking = true;
	buf_printf(&url, "%s/v1/agent/self", c->url.ptr);
	consul_add_param(&url, "ns", c->namespace);
	consul_add_param(&url, "partition", c->partition);
	consul_send(p, buf_cstr(&url), on_agent, p);
	buf_fini(&url);
}

static void consul_refresh(struct provider *p)
{
	const struct consul_source *s = p->data;

	if (s->datacenter)
		ask_all(p);
	else
		ask_agent(p);
}

static void *consul_open(struct provider *p)
{
	const struct consul_config *c = consul_config_of(p);
	struct consul_source *s = mem_new(struct consul_source);

	s->http = http_config_new(&c->base.http);
	s->shown = c->socket.len ? mem_strndup(c->socket) :
				   endpoint_url_shown(c->url.ptr);
	if (c->token.len)
		s->token =
			mem_printf("X-Consul-Token: %.*s", STR_ARG(c->token));
	if (c->datacenter.len)
		s->datacenter = mem_strndup(c->datacenter);
	s->catalog.p = p;
	return s;
}

static void consul_close(struct provider *p)
{
	struct consul_source *s = p->data;

	http_cancel(p->client, p);
	http_cancel(p->client, &s->catalog);
	consul_services_fini(&s->services);
	http_config_unref(s->http);
	mem_forget(s->token);
	mem_free(s->datacenter);
	mem_free(s->shown);
	mem_free(s);
}

const struct provider_kind provider_consul = {
	.name = "consul",
	.refresh_ms = 30000,
	.config_size = sizeof(struct consul_config),
	.fields = consul_config_fields,
	.init = consul_config_init,
	.check = consul_config_check,
	.open = consul_open,
	.refresh = consul_refresh,
	.close = consul_close,
	.call = consul_call,
};
