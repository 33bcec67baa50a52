/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/core/entry.h"

#include <stdio.h>

#include "base/mem.h"

/* The bounds of refresh_interval, in ms. */
#define REFRESH_MIN_MS 100
#define REFRESH_MAX_MS (24LL * 3600 * 1000)

/*
 * Set c->key to the name of the kind, followed by the entry as text, so that
 * only equal entries have equal keys.
 */
static void entry_set_key(struct yaml *y, const struct yaml_node *entry,
			  struct discovery_config *c)
{
	struct buf key = { 0 };

	buf_printf(&key, "%s ", c->kind->name);
	yaml_print_key(entry, &key);
	c->key = arena_str(&y->arena, str_from(buf_bytes(&key)));
	buf_fini(&key);
}

struct discovery_config *
discovery_entry_decode(struct yaml *y, const struct yaml_node *entry,
		       const struct provider_kind *kind)
{
	struct discovery_config *c = arena_alloc(&y->arena, kind->config_size);
	char what[64];

	c->kind = kind;
	c->entry = entry;
	c->file = y->file;
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
		yaml_error(y, yaml_place(entry, "refresh_interval"),
			   "refresh_interval must be between 100ms and 1d");
	if (kind->check)
		kind->check(y, entry, c);
	entry_set_key(y, entry, c);
	return c;
}

/*
 * The nodes of the entry are copied and decoded again, so that no kind needs
 * code that copies its own keys.
 */
struct owned_entry *discovery_entry_copy(const struct discovery_config *c)
{
	struct owned_entry *e = mem_new(struct owned_entry);

	e->file = mem_strdup(c->file);
	yaml_begin(&e->y, e->file);
	e->config = discovery_entry_decode(&e->y, yaml_copy(&e->y, c->entry),
					   c->kind);
	return e;
}

void discovery_entry_free(struct owned_entry *e)
{
	if (!e)
		return;
	yaml_fini(&e->y);
	mem_free(e->file);
	mem_free(e);
}
