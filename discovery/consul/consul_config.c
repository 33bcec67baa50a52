/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/consul/consul_config.h"

#include "base/env.h"
#include "discovery/rest/document.h"

/* Decode the map node_meta into a list of "key:value". */
static void decode_node_meta(struct yaml *y, const struct yaml_node *n,
			     void *field)
{
	struct text_list *l = field;

	if (!yaml_expect(y, n, YAML_MAP, "node_meta"))
		return;
	yaml_unique_keys(y, n);
	l->v = arena_array(&y->arena, struct str, n->count / 2);
	for (size_t i = 0; i < n->count; i += 2) {
		struct str value = str_of("");

		yaml_text(y, n->items[i + 1], &value);
		l->v[l->count++] = str_of(arena_printf(
			&y->arena, "%.*s:%.*s", STR_ARG(n->items[i]->text),
			STR_ARG(value)));
	}
}

void consul_config_init(struct discovery_config *base)
{
	struct consul_config *c = (struct consul_config *)base;

	c->server = str_of("localhost:8500");
	c->scheme = str_of("http");
	c->tag_separator = str_of(",");
	c->allow_stale = true;
	c->path_prefix = str_of("");
	c->token = str_of("");
	c->datacenter = str_of("");
	c->namespace = str_of("");
	c->partition = str_of("");
	c->username = str_of("");
	c->password = str_of("");
	c->filter = str_of("");
	c->health_filter = str_of("");
	c->socket = str_of("");
}

/*
 * If a text begins with `prefix`, cut the prefix off and return true. Otherwise
 * return false.
 */
static bool cut_prefix(struct str *s, const char *prefix)
{
	if (!str_starts(*s, str_of(prefix)))
		return false;
	s->ptr += strlen(prefix);
	s->len -= strlen(prefix);
	return true;
}

/*
 * Set the base URL and the socket. If `server` begins with https:// or unix://,
 * the key `scheme` is ignored: the requests go over https, or over http through
 * a Unix socket. The prefix http:// is only cut off. If `server` contains a
 * path, path_prefix is ignored.
 */
static void set_base_url(struct yaml *y, struct consul_config *c)
{
	struct str server = c->server;
	struct str scheme = c->scheme;
	struct str path = c->path_prefix;

	if (cut_prefix(&server, "unix://")) {
		c->socket = arena_str(&y->arena, server);
		server = str_of("localhost");
		scheme = str_of("http");
	} else if (cut_prefix(&server, "https://")) {
		scheme = str_of("https");
	} else {
		(void)cut_prefix(&server, "http://");
	}
	while (str_ends(server, "/"))
		server.len--;
	if (memchr(server.ptr, '/', server.len))
		path = str_of("");
	while (str_ends(path, "/"))
		path.len--;
	c->url = str_of(arena_printf(&y->arena, "%.*s://%.*s%s%.*s",
				     STR_ARG(scheme), STR_ARG(server),
				     path.len && *path.ptr != '/' ? "/" : "",
				     STR_ARG(path)));
}

/* Take the deprecated keys username and password as basic_auth. */
static void take_password(struct yaml *y, const struct yaml_node *entry,
			  struct consul_config *c)
{
	if (!c->username.len && !c->password.len)
		return;
	if (c->base.http.auth != HTTP_AUTH_NONE)
		yaml_error(
			y, entry,
			"username and password cannot be combined with another authentication");
	c->base.http.auth = HTTP_AUTH_BASIC;
	c->base.http.username.text = c->username;
	c->base.http.password.text = c->password;
}

/* Return `text`, or the environment variable `name` if `text` is empty. */
static struct str or_variable(struct str text, const char *name)
{
	return text.len ? text : env_text(name);
}

void consul_config_check(struct yaml *y, const struct yaml_node *entry,
			 struct discovery_config *base)
{
	struct consul_config *c = (struct consul_config *)base;
	struct yaml_node url = *entry;
	struct str checked = str_of("");

	if (!str_trim(c->server).len) {
		yaml_error(y, entry, "consul_sd_config requires server");
		return;
	}
	if (c->token.len && base->http.auth != HTTP_AUTH_NONE &&
	    base->http.auth != HTTP_AUTH_BASIC)
		yaml_error(
			y, entry,
			"token cannot be combined with authorization, bearer_token or oauth2");
	/* Consul's own client, which Prometheus uses, has these defaults. */
	c->token = or_variable(c->token, "CONSUL_HTTP_TOKEN");
	c->namespace = or_variable(c->namespace, "CONSUL_NAMESPACE");
	c->partition = or_variable(c->partition, "CONSUL_PARTITION");
	take_password(y, entry, c);
	if (!str_is_nocase(c->scheme, "http") &&
	    !str_is_nocase(c->scheme, "https"))
		yaml_error(y, yaml_place(entry, "scheme"),
			   "scheme must be http or https, not \"%.*s\"",
			   STR_ARG(c->scheme));
	set_base_url(y, c);
	url.kind = YAML_SCALAR;
	url.text = c->url;
	http_decode_url(y, &url, &checked);
	c->url = checked;
}

/* Return whether a service of the catalog has all configured tags. */
static bool has_tags(const struct consul_config *c,
		     const struct yaml_node *tags)
{
	size_t found = 0;

	for (size_t i = 0; i < c->tags.count; i++) {
		bool has = false;

		for (size_t k = 0; !has && k < doc_count(tags); k++)
			has = str_eq(doc_text(doc_item(tags, k), ""),
				     c->tags.v[i]);
		found += has;
	}
	return found == c->tags.count;
}

bool consul_config_wants(const struct consul_config *c, struct str service,
			 const struct yaml_node *tags)
{
	return (!c->services.count || text_list_has(&c->services, service)) &&
	       has_tags(c, tags);
}

const struct yaml_field consul_config_fields[] = {
	DISCOVERY_HTTP_FIELDS,
	{ "server", yaml_text, offsetof(struct consul_config, server), NULL },
	{ "scheme", yaml_text, offsetof(struct consul_config, scheme), NULL },
	{ "path_prefix", yaml_text, offsetof(struct consul_config, path_prefix),
	  NULL },
	{ "token", yaml_secret, offsetof(struct consul_config, token), NULL },
	{ "datacenter", yaml_text, offsetof(struct consul_config, datacenter),
	  NULL },
	{ "namespace", yaml_text, offsetof(struct consul_config, namespace),
	  NULL },
	{ "partition", yaml_text, offsetof(struct consul_config, partition),
	  NULL },
	{ "username", yaml_text, offsetof(struct consul_config, username),
	  NULL },
	{ "password", yaml_secret, offsetof(struct consul_config, password),
	  NULL },
	{ "tag_separator", yaml_text,
	  offsetof(struct consul_config, tag_separator), NULL },
	{ "filter", yaml_text, offsetof(struct consul_config, filter), NULL },
	{ "health_filter", yaml_text,
	  offsetof(struct consul_config, health_filter), NULL },
	{ "allow_stale", yaml_bool, offsetof(struct consul_config, allow_stale),
	  NULL },
	{ "services", yaml_text_list, offsetof(struct consul_config, services),
	  NULL },
	{ "tags", yaml_text_list, offsetof(struct consul_config, tags), NULL },
	{ "node_meta", decode_node_meta,
	  offsetof(struct consul_config, node_meta), NULL },
	{ 0 },
};
