/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/discovery_config.h"

#include "base/mem.h"
#include "client/transfer/http_config.h"
#include "discovery/core/entry.h"
#include "discovery/core/kinds.h"

#define KEY_END "_sd_configs"

#define KIND_ADDRESS(name) &provider_##name,

/* The kinds of discovery that exist. */
static const struct provider_kind *const kinds[] = { PROVIDER_KINDS(
	KIND_ADDRESS) };

/* Return the kind whose configuration key is `key`, or NULL. */
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
 * Report a service discovery that does not exist, or that only Prometheus has.
 */
static void tell_unknown(struct yaml *y, const struct yaml_node *key)
{
	yaml_error(
		y, key,
		"%.*s is not supported: check the spelling, or use http_sd_configs or file_sd_configs",
		STR_ARG(key->text));
}

/* Decode the entries of a kind, and append them to `out`. */
static void decode_entries(struct yaml *y, const struct yaml_node *key,
			   const struct provider_kind *kind,
			   const struct yaml_node *value,
			   struct discovery_configs *out)
{
	struct discovery_config **all;

	if (yaml_is_null(value) ||
	    !yaml_expect(y, value, YAML_LIST,
			 arena_strndup(&y->arena, key->text)))
		return;
	/*
	 * An array in an arena cannot grow, so the pointers are copied to a new
	 * one.
	 */
	all = arena_array(&y->arena, struct discovery_config *,
			  out->count + value->count);
	if (out->count)
		/* NOLINTNEXTLINE(bugprone-sizeof-expression): of pointers */
		memcpy(all, out->v, out->count * sizeof(*out->v));
	out->v = all;
	for (size_t i = 0; i < value->count; i++)
		all[out->count++] =
			discovery_entry_decode(y, value->items[i], kind);
}

/*
 * Return whether `kind` exists (is not NULL) and can be in a scrape job.
 * Otherwise report an error at `key`.
 */
static bool check_for_targets(struct yaml *y, const struct yaml_node *key,
			      const struct provider_kind *kind)
{
	if (!kind)
		tell_unknown(y, key);
	else if (kind->only_containers)
		yaml_error(y, key,
			   "%s_sd_configs can only be in the section ebpf",
			   kind->name);
	return kind && !kind->only_containers;
}

/*
 * Return whether `kind` exists (is not NULL) and can find containers. Otherwise
 * report an error at `key`.
 */
static bool check_for_containers(struct yaml *y, const struct yaml_node *key,
				 const struct provider_kind *kind)
{
	if (kind && kind->container_label)
		return true;
	yaml_error(
		y, key,
		"%.*s does not find containers: use kubernetes_sd_configs, cri_sd_configs or docker_sd_configs",
		STR_ARG(key->text));
	return false;
}

/*
 * Decode the entries of a key that ends in _sd_configs, and append them to
 * `out`, if check() accepts the kind of the key. If check() does not accept the
 * kind, it reports an error. Returns false if the key does not end in
 * _sd_configs.
 */
static bool decode_key(struct yaml *y, const struct yaml_node *key,
		       const struct yaml_node *value,
		       bool (*check)(struct yaml *y,
				     const struct yaml_node *key,
				     const struct provider_kind *kind),
		       struct discovery_configs *out)
{
	const struct provider_kind *kind;

	if (!str_ends(key->text, KEY_END))
		return false;
	kind = find_kind(key->text);
	if (check(y, key, kind))
		decode_entries(y, key, kind, value, out);
	return true;
}

bool discovery_configs_decode(struct yaml *y, const struct yaml_node *key,
			      const struct yaml_node *value,
			      struct discovery_configs *out)
{
	return decode_key(y, key, value, check_for_targets, out);
}

bool discovery_containers_decode(struct yaml *y, const struct yaml_node *key,
				 const struct yaml_node *value,
				 struct discovery_configs *out)
{
	size_t before = out->count;

	if (!decode_key(y, key, value, check_for_containers, out))
		return false;
	for (size_t i = before; i < out->count; i++) {
		const struct discovery_config *c = out->v[i];

		if (c->kind->check_containers)
			c->kind->check_containers(y, c->entry, c);
	}
	return true;
}

const char *discovery_container_label(size_t i)
{
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		if (kinds[k]->container_label && i-- == 0)
			return kinds[k]->container_label;
	}
	return NULL;
}

/*
 * The context of entry_tell(): an entry, and the callback that receives its
 * mistakes.
 */
struct entry_examined {
	const struct discovery_config *c;
	void (*tell)(void *ctx, const char *text);
	void *ctx;
};

/*
 * Pass on the mistake `text`, preceded by the kind and the line of the entry.
 */
static void entry_tell(void *ctx, const char *text)
{
	const struct entry_examined *e = ctx;
	char *placed = mem_printf("%s_sd_configs in line %u: %s",
				  e->c->kind->name, e->c->entry->line, text);

	e->tell(e->ctx, placed);
	mem_free(placed);
}

void discovery_configs_examine(const struct discovery_configs *c,
			       void (*tell)(void *ctx, const char *text),
			       void *ctx)
{
	for (size_t i = 0; i < c->count; i++) {
		struct entry_examined e = { c->v[i], tell, ctx };
		struct err err;

		if (http_config_try(&e.c->http, &err))
			entry_tell(&e, err.msg);
		if (e.c->kind->examine)
			e.c->kind->examine(e.c, entry_tell, &e);
	}
}
