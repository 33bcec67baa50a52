/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoding of relabelling rules from YAML, with the checks that Prometheus
 * makes. The public functions are declared in relabel.h.
 */
#include "model/relabel.h"

#include <locale.h>
#include <pthread.h>
#include <stddef.h>
#include <strings.h>
#include <wctype.h>

#include "base/mem.h"

/* Prometheus' defaults for the keys "regex", "replacement" and "separator". */
#define EVERYTHING "(.*)"
#define WHOLE      "$1"
#define SEPARATOR  ";"

/* Names of the actions in the configuration. */
static const char *const names[] = {
	[RELABEL_REPLACE] = "replace",     [RELABEL_KEEP] = "keep",
	[RELABEL_DROP] = "drop",           [RELABEL_KEEPEQUAL] = "keepequal",
	[RELABEL_DROPEQUAL] = "dropequal", [RELABEL_HASHMOD] = "hashmod",
	[RELABEL_LABELMAP] = "labelmap",   [RELABEL_LABELDROP] = "labeldrop",
	[RELABEL_LABELKEEP] = "labelkeep", [RELABEL_LOWERCASE] = "lowercase",
	[RELABEL_UPPERCASE] = "uppercase",
};

const char *relabel_action_name(enum relabel_action a)
{
	return names[a];
}

/*
 * Decode the key "action"; the case of its value is ignored, as in Prometheus.
 */
static void decode_action(struct yaml *y, const struct yaml_node *n,
			  void *field)
{
	struct relabel_rule *r = field;
	struct str text = { 0 };

	yaml_text(y, n, &text);
	for (size_t i = 0; text.len && i < ARRAY_SIZE(names); i++) {
		if (str_is_nocase(text, names[i])) {
			r->action = (enum relabel_action)i;
			return;
		}
	}
	if (text.len)
		yaml_error(
			y, n,
			"unknown relabel action \"%.*s\": use replace, keep, drop, keepequal, dropequal, hashmod, labelmap, labeldrop, labelkeep, lowercase or uppercase",
			STR_ARG(text));
}

/* Decode the key "source_labels" into an array in the document's arena. */
static void decode_sources(struct yaml *y, const struct yaml_node *n,
			   void *field)
{
	struct relabel_rule *r = field;

	if (!yaml_expect(y, n, YAML_LIST, "source_labels"))
		return;
	r->source_labels = arena_array(&y->arena, struct str, n->count);
	for (size_t i = 0; i < n->count; i++) {
		struct str *s = &r->source_labels[r->source_count++];

		*s = str_of("");
		yaml_text(y, n->items[i], s);
		if (!s->len || !str_is_utf8(*s))
			yaml_error(
				y, n->items[i],
				"a name in source_labels is empty or not UTF-8");
	}
}

/*
 * Set a text to "" if its key is present with the value null. Prometheus does
 * the same; elsewhere in the configuration null selects the default.
 */
static void empty_if_null(const struct yaml_node *map, const char *key,
			  struct str *field)
{
	const struct yaml_node *n = yaml_child(map, key);

	if (n && yaml_is_null(n))
		*field = str_of("");
}

/* Return whether an action requires the key "target_label". */
static bool needs_target(enum relabel_action a)
{
	return a == RELABEL_REPLACE || a == RELABEL_HASHMOD ||
	       a == RELABEL_LOWERCASE || a == RELABEL_UPPERCASE ||
	       a == RELABEL_KEEPEQUAL || a == RELABEL_DROPEQUAL;
}

/* Return whether a key is present, even with an empty value. */
static bool relabel_is_given(const struct yaml_node *map, const char *key)
{
	return yaml_child(map, key) != NULL;
}

/* Report an error for each key of the list `keys` that is present. */
static void refuse_keys(struct yaml *y, const struct yaml_node *map,
			const struct relabel_rule *r, const char *const *keys)
{
	for (; *keys; keys++) {
		if (relabel_is_given(map, *keys))
			yaml_error(y, yaml_child(map, *keys),
				   "action %s does not support %s",
				   names[r->action], *keys);
	}
}

/*
 * Refuse keys that have no effect with the rule's action, as Prometheus does:
 * they are usually a mistake.
 */
static void check_keys(struct yaml *y, const struct yaml_node *map,
		       const struct relabel_rule *r)
{
	/*
	 * Keys that have no effect, by action: "keepequal" and "dropequal"
	 * compare labels without a regex; "labeldrop" and "labelkeep" use only
	 * the names of labels; "lowercase" and "uppercase" write the source
	 * value itself.
	 */
	static const char *const but_equal[] = { "regex", "separator",
						 "modulus", "replacement",
						 NULL };
	static const char *const but_regex[] = { "source_labels", "separator",
						 "modulus",       "replacement",
						 "target_label",  NULL };
	static const char *const but_case[] = { "replacement", NULL };

	switch (r->action) {
	case RELABEL_KEEPEQUAL:
	case RELABEL_DROPEQUAL:
		refuse_keys(y, map, r, but_equal);
		break;
	case RELABEL_LABELDROP:
	case RELABEL_LABELKEEP:
		refuse_keys(y, map, r, but_regex);
		break;
	case RELABEL_LOWERCASE:
	case RELABEL_UPPERCASE:
		refuse_keys(y, map, r, but_case);
		break;
	default:
		break;
	}
}

/*
 * Check a decoded rule as a whole and compile its regex. Errors are reported
 * at the key that causes them, or else at the rule.
 */
static void check_rule(struct yaml *y, const struct yaml_node *map,
		       struct relabel_rule *r)
{
	const struct yaml_node *modulus = yaml_child(map, "modulus");
	const struct yaml_node *regex = yaml_child(map, "regex");
	struct err err;

	check_keys(y, map, r);
	if (r->action == RELABEL_HASHMOD && r->modulus < 1)
		yaml_error(y, modulus ? modulus : map,
			   "action hashmod requires a modulus of at least 1");
	if (needs_target(r->action) && !r->target_label.len)
		yaml_error(y, map, "action %s requires target_label",
			   names[r->action]);
	if (r->action == RELABEL_LABELMAP && !r->replacement.len)
		yaml_error(
			y, map,
			"action labelmap requires a replacement that is not empty");
	if (regex_new(r->pattern, &r->regex, &err))
		yaml_error(y, regex ? regex : map, "%s", err.msg);
}

/* Decode one rule, starting from Prometheus' defaults. */
static void decode_rule(struct yaml *y, const struct yaml_node *n,
			struct relabel_rule *r)
{
	static const struct yaml_field fields[] = {
		{ "action", decode_action, 0, NULL },
		{ "source_labels", decode_sources, 0, NULL },
		{ "separator", yaml_text,
		  offsetof(struct relabel_rule, separator), NULL },
		{ "regex", yaml_text, offsetof(struct relabel_rule, pattern),
		  NULL },
		{ "modulus", yaml_int, offsetof(struct relabel_rule, modulus),
		  NULL },
		{ "target_label", yaml_text,
		  offsetof(struct relabel_rule, target_label), NULL },
		{ "replacement", yaml_text,
		  offsetof(struct relabel_rule, replacement), NULL },
		{ 0 },
	};

	*r = (struct relabel_rule){ .node = n,
				    .separator = str_of(SEPARATOR),
				    .pattern = str_of(EVERYTHING),
				    .target_label = str_of(""),
				    .replacement = str_of(WHOLE) };
	yaml_decode(y, n, "relabel_config", fields, r);
	/*
	 * If n is not a map, yaml_decode() has already reported that, and there
	 * are no keys to check.
	 */
	if (n->kind != YAML_MAP)
		return;
	empty_if_null(n, "separator", &r->separator);
	empty_if_null(n, "regex", &r->pattern);
	empty_if_null(n, "replacement", &r->replacement);
	check_rule(y, n, r);
}

void relabel_decode(struct yaml *y, const struct yaml_node *list, void *field)
{
	struct relabel_rules *rules = field;

	if (!yaml_expect(y, list, YAML_LIST, "relabel_configs"))
		return;
	rules->v = arena_array(&y->arena, struct relabel_rule, list->count);
	for (size_t i = 0; i < list->count; i++)
		decode_rule(y, list->items[i], &rules->v[rules->count++]);
}

void relabel_rules_fini(struct relabel_rules *rules)
{
	for (size_t i = 0; i < rules->count; i++)
		regex_free(rules->v[i].regex);
	rules->count = 0;
}
