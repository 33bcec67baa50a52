/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/discovery_config.h"

#include <stddef.h>
#include <strings.h>

#include "base/mem.h"

/* Prometheus' defaults and the bounds of refresh_interval, in ms. */
#define FILE_REFRESH_MS 300000
#define HTTP_REFRESH_MS 60000
#define REFRESH_MIN_MS  100
#define REFRESH_MAX_MS  (24LL * 3600 * 1000)

/* Returns whether a path has an extension, ignoring case. */
static bool discovery_config_ends_with(struct str s, const char *end)
{
	size_t n = strlen(end);

	return s.len > n && !strncasecmp(s.ptr + s.len - n, end, n);
}

/*
 * Returns whether Prometheus would accept a path: it has a known extension, and
 * no "*" before the last slash.
 */
static bool is_pattern(struct str s)
{
	const char *star = memchr(s.ptr, '*', s.len);
	size_t rest = star ? s.len - (size_t)(star - s.ptr) : 0;

	if (star && memchr(star, '/', rest))
		return false;
	return discovery_config_ends_with(s, ".json") ||
	       discovery_config_ends_with(s, ".yml") ||
	       discovery_config_ends_with(s, ".yaml");
}

/*
 * Decodes the key "files"; its paths are relative to the folder of the
 * configuration file.
 */
static void discovery_config_decode_files(struct yaml *y,
					  const struct yaml_node *n,
					  void *field)
{
	struct discovery_config *c = field;

	if (!yaml_expect(y, n, YAML_LIST, "files"))
		return;
	c->files = arena_array(&y->arena, struct str, n->count);
	for (size_t i = 0; i < n->count; i++) {
		struct str path = str_of("");

		yaml_text(y, n->items[i], &path);
		if (!is_pattern(path))
			yaml_error(
				y, n->items[i],
				"invalid path \"%.*s\": it must end in .json, .yml or .yaml, and may have one * in the file name",
				STR_ARG(path));
		else
			c->files[c->file_count++] = yaml_path(y, path);
	}
}

/*
 * Appends `part` to the text of a key, preceded by its length, so that
 * different entries can never have equal keys.
 */
static void add_key(struct buf *key, struct str part)
{
	buf_printf(key, "%zu:", part.len);
	buf_add(key, part.ptr, part.len);
}

/*
 * Sets c->key to the kind and all options of the entry as text, so that only
 * equal entries have equal keys.
 */
static void set_key(struct yaml *y, struct discovery_config *c)
{
	struct buf key = { 0 };

	buf_printf(&key, "%d %lld ", (int)c->kind, (long long)c->refresh_ms);
	add_key(&key, c->url);
	add_key(&key, c->http.key);
	for (size_t i = 0; i < c->file_count; i++)
		add_key(&key, c->files[i]);
	c->key = arena_str(&y->arena, str_from(buf_bytes(&key)));
	buf_fini(&key);
}

/*
 * Checks an entry as a whole. An entry that is not a map has been reported
 * already.
 */
static void discovery_config_check(struct yaml *y, const struct yaml_node *n,
				   const struct discovery_config *c)
{
	if (c->refresh_ms < REFRESH_MIN_MS || c->refresh_ms > REFRESH_MAX_MS)
		yaml_error(y, n,
			   "refresh_interval must be between 100ms and 1d");
	if (c->kind == DISCOVERY_FILE && n->kind == YAML_MAP && !c->file_count)
		yaml_error(y, n, "file_sd_config requires files");
	if (c->kind == DISCOVERY_HTTP && n->kind == YAML_MAP && !c->url.len)
		yaml_error(y, n, "http_sd_config requires url");
}

/* A kind of list, file_sd_configs or http_sd_configs: its keys and defaults. */
struct entry_kind {
	enum discovery_kind kind;
	const char *list;
	const char *entry;
	int64_t refresh_ms;
	const struct yaml_field *fields;
};

/*
 * Decodes a list and appends its entries to `out`, which may have entries of
 * the other kind already. An array in an arena cannot grow, so the existing
 * entries are copied to a new array.
 */
static void decode_list(struct yaml *y, const struct yaml_node *n,
			const struct entry_kind *k,
			struct discovery_configs *out)
{
	struct discovery_config *all;

	if (!yaml_expect(y, n, YAML_LIST, k->list))
		return;
	all = arena_array(&y->arena, struct discovery_config,
			  out->count + n->count);
	if (out->count)
		memcpy(all, out->v, out->count * sizeof(*all));
	out->v = all;
	for (size_t i = 0; i < n->count; i++) {
		struct discovery_config *c = &all[out->count++];

		*c = (struct discovery_config){ .kind = k->kind,
						.refresh_ms = k->refresh_ms,
						.url = str_of("") };
		http_options_init(&c->http);
		yaml_decode(y, n->items[i], k->entry, k->fields, c);
		http_options_check(y, n->items[i], &c->http);
		discovery_config_check(y, n->items[i], c);
		set_key(y, c);
	}
}

void file_sd_decode(struct yaml *y, const struct yaml_node *n, void *field)
{
	static const struct yaml_field fields[] = {
		{ "files", discovery_config_decode_files, 0, NULL },
		{ "refresh_interval", yaml_duration,
		  offsetof(struct discovery_config, refresh_ms), NULL },
		{ 0 },
	};
	static const struct entry_kind kind = { DISCOVERY_FILE,
						"file_sd_configs",
						"file_sd_config",
						FILE_REFRESH_MS, fields };

	decode_list(y, n, &kind, field);
}

void http_sd_decode(struct yaml *y, const struct yaml_node *n, void *field)
{
	static const struct yaml_field fields[] = {
		HTTP_OPTION_FIELDS(struct discovery_config, http),
		{ "url", http_decode_url,
		  offsetof(struct discovery_config, url), NULL },
		{ "refresh_interval", yaml_duration,
		  offsetof(struct discovery_config, refresh_ms), NULL },
		{ 0 },
	};
	static const struct entry_kind kind = { DISCOVERY_HTTP,
						"http_sd_configs",
						"http_sd_config",
						HTTP_REFRESH_MS, fields };

	decode_list(y, n, &kind, field);
}
