/* SPDX-License-Identifier: Apache-2.0 */
#include "push/labels/push_types.h"

#include <string.h>

#include "base/yaml_json.h"
#include "pprof/merge/aggregate.h"

int push_types_parse(struct push_types *t, struct bytes json, struct err *err)
{
	int rc;

	if (json.len > PUSH_TYPES_BYTES_MAX)
		return err_set(err, ERR_INVALID,
			       "sample_type_config is longer than %d bytes",
			       PUSH_TYPES_BYTES_MAX);
	t->is_set = true;
	yaml_parse_json(&t->yaml, "sample_type_config", json);
	rc = yaml_check(&t->yaml, err);
	if (!rc && t->yaml.root->kind != YAML_MAP)
		rc = err_set(
			err, ERR_INVALID,
			"sample_type_config must be a JSON object with an object for each sample type");
	return rc;
}

void push_types_fini(struct push_types *t)
{
	if (t->is_set)
		yaml_fini(&t->yaml);
	*t = (struct push_types){ .is_set = false };
}

/* Return a text of the configuration of a sample type; empty if it has none. */
static struct str push_types_text(const struct push_types *t, struct str type,
				  const char *key)
{
	const struct yaml_node *root = t->is_set ? t->yaml.root : NULL;

	for (size_t i = 0; root && i + 1 < root->count; i += 2) {
		const struct yaml_node *value;

		if (!str_eq(root->items[i]->text, type))
			continue;
		value = yaml_child(root->items[i + 1], key);
		return value && value->kind == YAML_SCALAR ?
			       value->text :
			       (struct str){ .len = 0 };
	}
	return (struct str){ .len = 0 };
}

/* Return the name by which Pyroscope shows a sample type. */
static struct str push_types_shown(const struct push_types *t, struct str type)
{
	static const struct {
		const char *type;
		const char *shown;
	} defaults[] = {
		{ "samples", "cpu" },
		{ "goroutine", "goroutines" },
		{ "contentions", "mutex_count" },
		{ "delay", "mutex_duration" },
	};
	struct str shown = push_types_text(t, type, "display-name");

	/* As in Pyroscope, a configuration takes the place of all defaults. */
	for (size_t i = 0; !t->is_set && i < ARRAY_SIZE(defaults); i++) {
		if (str_is(type, defaults[i].type))
			return str_of(defaults[i].shown);
	}
	return shown.len ? shown : type;
}

/* Whether a text contains another one. */
static bool push_types_has(struct str text, const char *part)
{
	return memmem(text.ptr, text.len, part, strlen(part)) != NULL;
}

/* Return the profile type of a sample type's name; NULL if it tells none. */
static const char *push_types_kind(struct str shown)
{
	if (push_types_has(shown, "cpu"))
		return "process_cpu";
	if (push_types_has(shown, "alloc_") ||
	    push_types_has(shown, "inuse_") || str_is(shown, "space") ||
	    str_is(shown, "objects"))
		return "memory";
	if (push_types_has(shown, "mutex_"))
		return "mutex";
	if (push_types_has(shown, "block_"))
		return "block";
	return push_types_has(shown, "goroutines") ? "goroutines" : NULL;
}

struct str push_types_name(const struct push_types *t,
			   const struct typeset *types)
{
	struct str shown = str_of("");

	for (size_t i = 0; i < types->count; i++) {
		if (str_is(types->types[i].type, "wall"))
			return str_of("wall");
	}
	for (size_t i = 0; i < types->count; i++) {
		const char *kind;

		shown = push_types_shown(t, types->types[i].type);
		kind = push_types_kind(shown);
		if (kind)
			return str_of(kind);
	}
	/* A profile may have no sample types, or one without a name. */
	return shown.len ? shown : str_of("unknown");
}

struct str push_types_otlp_name(const struct typeset *types)
{
	static const struct push_types none;

	/* Its name has that of the CPU, but it is the time without one. */
	if (types->count && str_is(types->types[0].type, "off_cpu"))
		return str_of("off_cpu");
	return push_types_name(&none, types);
}

bool push_types_cumulative(const struct push_types *t)
{
	const struct yaml_node *root = t->is_set ? t->yaml.root : NULL;

	for (size_t i = 0; root && i + 1 < root->count; i += 2) {
		const struct yaml_node *value =
			yaml_child(root->items[i + 1], "cumulative");

		if (value && value->kind == YAML_SCALAR &&
		    str_is(value->text, "true"))
			return true;
	}
	return false;
}

bool push_types_count(const struct typeset *types)
{
	for (size_t i = 0; i < types->count; i++) {
		if (value_kind(types->types[i].type, false) == KIND_COUNTER)
			return true;
	}
	return false;
}
