/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/rest/rest_config.h"

#include "discovery/rest/rest_source.h"

void rest_init(struct discovery_config *base)
{
	struct rest_config *c = (struct rest_config *)base;

	c->port = 80;
	c->separator = str_of(",");
	c->server = str_of("");
	c->socket = str_of("");
	if (!base->kind->rest[0]->role)
		c->table = base->kind->rest[0];
}

/* Append the names of all roles of a kind to `out`. */
static void list_roles(const struct provider_kind *kind, struct buf *out)
{
	for (size_t i = 0; kind->rest[i]; i++)
		buf_printf(out, "%s%s", i ? ", " : "", kind->rest[i]->role);
}

void rest_decode_role(struct yaml *y, const struct yaml_node *n, void *config)
{
	struct rest_config *c = config;
	const struct provider_kind *kind = c->base.kind;
	struct str name = str_of("");
	struct buf roles = { 0 };

	yaml_text(y, n, &name);
	for (size_t i = 0; kind->rest[i]; i++) {
		if (str_is(name, kind->rest[i]->role)) {
			c->table = kind->rest[i];
			return;
		}
	}
	list_roles(kind, &roles);
	yaml_error(y, n, "role must be one of %s, not \"%.*s\"",
		   buf_cstr(&roles), STR_ARG(name));
	buf_fini(&roles);
}

void rest_check(struct yaml *y, const struct yaml_node *entry,
		struct discovery_config *base)
{
	struct rest_config *c = (struct rest_config *)base;
	struct buf roles = { 0 };

	if (c->port < 0 || c->port > 65535)
		yaml_error(y, yaml_place(entry, "port"),
			   "port must be between 0 and 65535");
	if (!c->table && yaml_is_null(yaml_child(entry, "role"))) {
		list_roles(base->kind, &roles);
		yaml_error(y, entry, "%s_sd_config requires role: one of %s",
			   base->kind->name, buf_cstr(&roles));
		buf_fini(&roles);
	}
	/*
	 * Remove the slashes at the end of the base URL, because the path that
	 * is appended to the base URL begins with a slash.
	 */
	while (str_ends(c->server, "/"))
		c->server.len--;
	c->server = arena_str(&y->arena, c->server);
}

void rest_refuse_auth(struct yaml *y, const struct yaml_node *entry,
		      const struct discovery_config *base)
{
	if (base->http.auth != HTTP_AUTH_NONE)
		yaml_error(
			y, entry,
			"%s_sd_config has its own kinds of credentials: basic_auth, authorization, bearer_token and oauth2 cannot be used",
			base->kind->name);
}
