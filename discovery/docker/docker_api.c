/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/docker/docker_api.h"

#include "base/json.h"
#include "base/url.h"
#include "discovery/rest/filter_list.h"

void docker_write_url(struct rest_run *r, const char *path, bool filtered,
		      struct buf *out)
{
	const struct docker_config *c = (const struct docker_config *)r->config;

	struct str version =
		doc_text(rest_item(r, DOCKER_VERSION, 0), "ApiVersion");

	if (version.len)
		buf_str(out, "/v");
	url_escape(version, out);
	buf_str(out, path);
	if (filtered && c->filters.len)
		url_add_param(out, "filters", c->filters);
}

bool docker_write_networks_url(struct rest_run *r, size_t i, struct buf *out)
{
	docker_write_url(r, "/networks", false, out);
	return i == 0;
}

void docker_add_network(struct rest_run *r, const struct field_row *labels,
			struct str id)
{
	const struct yaml_node *network = rest_lookup(r, DOCKER_NETWORKS, id);

	if (network)
		field_rows_add(&r->b, labels, network, str_of(","));
}

/*
 * Set the base URL and, for unix://, the socket. The URLs of requests through a
 * Unix socket have the host "localhost".
 */
void docker_decode_host(struct yaml *y, const struct yaml_node *n, void *field)
{
	struct docker_config *c = field;
	struct str text = str_of("");
	static const char unix_scheme[] = "unix://";
	static const char tcp[] = "tcp://";
	struct yaml_node http = *n;

	yaml_text(y, n, &text);
	if (str_starts(text, str_of(unix_scheme))) {
		c->rest.socket = arena_str(
			&y->arena, (struct str){ text.ptr + 7, text.len - 7 });
		c->rest.server = str_of("http://localhost");
		if (*c->rest.socket.ptr != '/')
			yaml_error(
				y, n,
				"host needs the absolute path of a socket, such as unix:///var/run/docker.sock");
		return;
	}
	if (str_starts(text, str_of(tcp)))
		http.text =
			str_of(arena_printf(&y->arena, "http://%.*s",
					    (int)text.len - 6, text.ptr + 6));
	else if (!str_starts(text, str_of("http://")) &&
		 !str_starts(text, str_of("https://"))) {
		yaml_error(
			y, n,
			"host must begin with unix://, tcp://, http:// or https://");
		return;
	}
	http_decode_url(y, &http, &c->rest.server);
}

/* Return whether an earlier entry of `filters` has the name of entry `i`. */
static bool is_repeated(const struct yaml_node *list, size_t i)
{
	struct str name = doc_text(list->items[i], "name");

	for (size_t k = 0; k < i; k++) {
		if (str_eq(doc_text(list->items[k], "name"), name))
			return true;
	}
	return false;
}

/*
 * Return whether any entry of `filters` with the name `name` has values. A
 * filter without values is not sent: Docker ignores most such filters, but
 * would return no objects for some of them, such as `ancestor` and `volume`.
 */
static bool has_values(const struct yaml_node *list, struct str name)
{
	for (size_t i = 0; i < list->count; i++) {
		if (str_eq(doc_text(list->items[i], "name"), name) &&
		    doc_count(doc_find(list->items[i], "values")))
			return true;
	}
	return false;
}

/*
 * Write the name of entry `i`, and the values of all entries with this name;
 * write nothing if there are no values. Entry `i` is the first entry with this
 * name.
 */
static void write_filter(struct json *j, const struct yaml_node *list, size_t i)
{
	struct str name = doc_text(list->items[i], "name");

	if (!has_values(list, name))
		return;
	json_key_str(j, name);
	json_begin(j, '{');
	for (size_t k = i; k < list->count; k++) {
		const struct yaml_node *values =
			doc_find(list->items[k], "values");

		if (!str_eq(doc_text(list->items[k], "name"), name))
			continue;
		for (size_t v = 0; v < doc_count(values); v++) {
			json_key_str(j, doc_text(doc_item(values, v), ""));
			json_bool(j, true);
		}
	}
	json_end(j, '}');
}

void docker_decode_filters(struct yaml *y, const struct yaml_node *n,
			   void *field)
{
	struct docker_config *c = field;
	struct buf text = { 0 };
	struct json j = json_init(&text);

	if (!filter_list_check(y, n) || !n->count)
		return;
	json_begin(&j, '{');
	for (size_t i = 0; i < n->count; i++) {
		if (!is_repeated(n, i))
			write_filter(&j, n, i);
	}
	json_end(&j, '}');
	c->filters = arena_str(&y->arena, str_from(buf_bytes(&text)));
	buf_fini(&text);
}

void docker_init(struct discovery_config *base)
{
	struct docker_config *c = (struct docker_config *)base;

	rest_init(base);
	c->filters = str_of("");
	c->host_networking_host = str_of("localhost");
	c->match_first_network = true;
}

void docker_check(struct yaml *y, const struct yaml_node *entry,
		  struct discovery_config *base)
{
	if (yaml_is_null(yaml_child(entry, "host")))
		yaml_error(y, entry, "%s_sd_config requires host",
			   base->kind->name);
	rest_check(y, entry, base);
}
