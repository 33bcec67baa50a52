/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/aws/aws_profile.h"

#include "base/env.h"
#include "base/file_slurp.h"
#include "base/mem.h"
#include "base/yaml.h"

const char *aws_profile_get(const struct aws_profile *p, const char *key)
{
	for (size_t i = 0; i < p->settings.count; i++) {
		const struct aws_setting *s = &p->settings.v[i];

		if (*s->value && str_is(str_of(s->key), key))
			return s->value;
	}
	return NULL;
}

void aws_profile_fini(struct aws_profile *p)
{
	for (size_t i = 0; i < p->settings.count; i++) {
		mem_free(p->settings.v[i].key);
		mem_forget(p->settings.v[i].value);
	}
	vec_fini(&p->settings);
}

/*
 * Add a setting. The first `before` elements of p->settings come from earlier
 * files; their values stay. Of several values in one file, the last one counts,
 * as in AWS' own libraries. An empty value does not count.
 */
static void profile_set(struct aws_profile *p, size_t before, struct str key,
			struct str value)
{
	struct aws_setting s = { .key = buf_lower_copy(key) };

	for (size_t i = 0; i < p->settings.count && value.len; i++) {
		struct aws_setting *old = &p->settings.v[i];

		if (strcmp(old->key, s.key) != 0 || !*old->value)
			continue;
		if (i >= before) {
			mem_forget(old->value);
			old->value = mem_strndup(value);
		}
		mem_free(s.key);
		return;
	}
	s.value = mem_strndup(value);
	*vec_add(&p->settings) = s;
}

/*
 * Return whether `line` begins the section of the profile `name`:
 * "[<prefix><name>]", or "[default]" without the prefix.
 */
static bool is_section(struct str line, const char *prefix, const char *name)
{
	struct str inner = { line.ptr + 1, line.len - 1 };

	inner = str_trim(str_cut(inner, ']', &inner));
	if (str_is(inner, "default") && str_is(str_of(name), "default"))
		return true;
	if (!str_starts(inner, str_of(prefix)))
		return false;
	inner.ptr += strlen(prefix);
	inner.len -= strlen(prefix);
	return str_is(str_trim(inner), name);
}

/*
 * Return a value without its comment, and without the white space around it. A
 * comment begins with "#" or ";" after a space or a tab.
 */
static struct str cut_comment(struct str value)
{
	for (size_t i = 1; i < value.len; i++) {
		bool is_space = value.ptr[i - 1] == ' ' ||
				value.ptr[i - 1] == '\t';

		if (is_space && (value.ptr[i] == '#' || value.ptr[i] == ';'))
			value.len = i;
	}
	return str_trim(value);
}

void aws_profile_parse(struct aws_profile *p, struct str text,
		       const char *prefix, const char *name)
{
	size_t before = p->settings.count;
	bool inside = false;

	while (text.len) {
		struct str raw = str_cut(text, '\n', &text);
		struct str line = str_trim(raw);
		struct str value;
		struct str key;

		/*
		 * Skip indented lines, too: they belong to the setting before
		 * them.
		 */
		if (!line.len || *raw.ptr == ' ' || *raw.ptr == '\t' ||
		    *line.ptr == '#' || *line.ptr == ';')
			continue;
		if (*line.ptr == '[') {
			inside = is_section(line, prefix, name);
			p->exists |= inside;
			continue;
		}
		key = str_trim(str_cut(line, '=', &value));
		if (inside)
			profile_set(p, before, key, cut_comment(value));
	}
}

/*
 * Return the path in the environment variable `variable`, or else the path
 * `standard` in the home folder; NULL: neither `variable` nor HOME is set.
 */
static char *profile_path(const char *variable, const char *standard)
{
	const char *path = env_find(variable);
	const char *home = env_find("HOME");

	if (path)
		return mem_strdup(path);
	return home ? mem_printf("%s/%s", home, standard) : NULL;
}

/* Read one file, if it exists; take ownership of `path`, which may be NULL. */
static int profile_read_file(struct aws_profile *p, char *path,
			     const char *prefix, const char *name,
			     struct err *err)
{
	struct buf text = buf_init(YAML_TEXT_MAX);
	int rc = path ? file_slurp(path, &text, err) : 0;

	if (!rc)
		aws_profile_parse(p, str_from(buf_bytes(&text)), prefix, name);
	buf_forget(&text);
	mem_free(path);
	return rc == ERR_NOTFOUND ? 0 : rc;
}

int aws_profile_read(struct aws_profile *p, const char *name, struct err *err)
{
	int rc;

	*p = (struct aws_profile){ 0 };
	rc = profile_read_file(
		p,
		profile_path("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials"),
		"", name, err);
	if (rc)
		return rc;
	return profile_read_file(p,
				 profile_path("AWS_CONFIG_FILE", ".aws/config"),
				 "profile ", name, err);
}
