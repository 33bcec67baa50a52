/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/file/file_config.h"

#include <strings.h>

/* Return whether the path `s` ends with the extension `end`, ignoring case. */
static bool file_config_ends_with(struct str s, const char *end)
{
	size_t n = strlen(end);

	return s.len > n && !strncasecmp(s.ptr + s.len - n, end, n);
}

/*
 * Return whether a path has a known extension, and no "*" before its last
 * slash. Prometheus demands the same, but refuses extensions in mixed case,
 * such as .Json.
 */
static bool is_pattern(struct str s)
{
	const char *star = memchr(s.ptr, '*', s.len);
	size_t rest = star ? s.len - (size_t)(star - s.ptr) : 0;

	if (star && memchr(star, '/', rest))
		return false;
	return file_config_ends_with(s, ".json") ||
	       file_config_ends_with(s, ".yml") ||
	       file_config_ends_with(s, ".yaml");
}

/*
 * Decode the key "files". A relative path is relative to the folder of the
 * configuration file.
 */
static void file_config_decode_files(struct yaml *y, const struct yaml_node *n,
				     void *field)
{
	struct file_config *c = field;

	if (!yaml_expect(y, n, YAML_LIST, "files"))
		return;
	c->files = arena_array(&y->arena, struct str, n->count);
	for (size_t i = 0; i < n->count; i++) {
		struct str path = str_of("");

		yaml_text(y, n->items[i], &path);
		if (!is_pattern(path))
			yaml_error(
				y, n->items[i],
				"invalid path \"%.*s\": it must end in .json, .yml or .yaml, and may have * only in the file name",
				STR_ARG(path));
		else
			c->files[c->file_count++] = yaml_path(y, path);
	}
}

void file_config_check(struct yaml *y, const struct yaml_node *entry,
		       struct discovery_config *base)
{
	const struct file_config *c = (const struct file_config *)base;

	if (!c->file_count)
		yaml_error(y, entry, "file_sd_config requires files");
}

const struct yaml_field file_config_fields[] = {
	{ "files", file_config_decode_files, 0, NULL },
	DISCOVERY_FIELDS,
	{ 0 },
};
