/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/discovery_config.h"

#include <stdio.h>

#include "base/mem.h"
#include "discovery/kind/dns_sd.h"
#include "discovery/kind/file_sd.h"
#include "discovery/kind/http_sd.h"
#include "discovery/provider/provider.h"

/* The bounds of refresh_interval, in ms. */
#define REFRESH_MIN_MS 100
#define REFRESH_MAX_MS (24LL * 3600 * 1000)

#define KEY_END "_sd_configs"

/* The kinds of discovery that exist. */
static const struct provider_kind *const kinds[] = {
	&provider_dns,
	&provider_file,
	&provider_http,
};

/* Returns the kind whose configuration key is `key`, or NULL. */
static const struct provider_kind *find_kind(struct str key)
{
	struct str name = { key.ptr, key.len - strlen(KEY_END) };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (str_is(name, kinds[i]->name))
			return kinds[i];
	}
	return NULL;
}

/*
 * Sets c->key to the name of the kind and the entry as text, so that only equal
 * entries have equal keys.
 */
static void set_key(struct yaml *y, const struct yaml_node *entry,
		    struct discovery_config *c)
{
	struct buf key = { 0 };

	buf_printf(&key, "%s ", c->kind->name);
	yaml_print_key(entry, &key);
	c->key = arena_str(&y->arena, str_from(buf_bytes(&key)));
	buf_fini(&key);
}

/* Decodes one entry of a list. */
static struct discovery_config *
discovery_config_decode(struct yaml *y, const struct yaml_node *entry,
			const struct provider_kind *kind)
{
	struct discovery_config *c = arena_alloc(&y->arena, kind->config_size);
	char what[64];

	c->kind = kind;
	c->refresh_ms = kind->refresh_ms;
	http_options_init(&c->http);
	if (kind->init)
		kind->init(c);
	snprintf(what, sizeof(what), "%s_sd_config", kind->name);
	yaml_decode(y, entry, what, kind->fields, c);
	if (entry->kind != YAML_MAP)
		return c; /* reported already */
	http_options_check(y, entry, &c->http);
	if (c->refresh_ms < REFRESH_MIN_MS || c->refresh_ms > REFRESH_MAX_MS)
		yaml_error(y, entry,
			   "refresh_interval must be between 100ms and 1d");
	if (kind->check)
		kind->check(y, entry, c);
	set_key(y, entry, c);
	return c;
}

/*
 * Reports a service discovery that does not exist, or that Prometheus has and
 * everprof does not.
 */
static void tell_unknown(struct yaml *y, const struct yaml_node *key)
{
	yaml_error(
		y, key,
		"%.*s is not supported: use http_sd_configs or file_sd_configs",
		STR_ARG(key->text));
}

bool discovery_configs_decode(struct yaml *y, const struct yaml_node *key,
			      const struct yaml_node *value,
			      struct discovery_configs *out)
{
	const struct provider_kind *kind;
	struct discovery_config **all;

	if (!str_ends(key->text, KEY_END))
		return false;
	kind = find_kind(key->text);
	if (!kind) {
		tell_unknown(y, key);
		return true;
	}
	if (yaml_is_null(value) ||
	    !yaml_expect(y, value, YAML_LIST,
			 arena_strndup(&y->arena, key->text)))
		return true;
	/* An array in an arena cannot grow, so the entries are copied. */
	all = arena_array(&y->arena, struct discovery_config *,
			  out->count + value->count);
	if (out->count)
		memcpy(all, out->v, out->count * sizeof(*out->v));
	out->v = all;
	for (size_t i = 0; i < value->count; i++)
		all[out->count++] =
			discovery_config_decode(y, value->items[i], kind);
	return true;
}

void discovery_configs_examine(const struct discovery_configs *c,
			       void (*tell)(void *ctx, const char *text),
			       void *ctx)
{
	for (size_t i = 0; i < c->count; i++) {
		if (c->v[i]->kind->examine)
			c->v[i]->kind->examine(c->v[i], tell, ctx);
	}
}
