/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relabelling: rules that change, keep or drop a set of labels, with the
 * meaning of Prometheus' relabel_configs.
 *
 * Source: prometheus.io/docs/prometheus/latest/configuration/configuration,
 * relabel_config. The action hashmod takes the last 8 bytes of an MD5 sum as a
 * big-endian number.
 *
 * Ownership: rules live in the arena of the struct yaml that they were decoded
 * from; only their regexes are freed by relabel_rules_fini().
 * Threads: rules belong to one thread at a time, because their regexes do.
 */
#ifndef MODEL_RELABEL_H
#define MODEL_RELABEL_H

#include "base/yaml.h"
#include "model/labels.h"
#include "model/regex.h"

/* The actions of Prometheus' relabel_config, under the names used there. */
enum relabel_action {
	RELABEL_REPLACE,
	RELABEL_KEEP,
	RELABEL_DROP,
	RELABEL_KEEPEQUAL,
	RELABEL_DROPEQUAL,
	RELABEL_HASHMOD,
	RELABEL_LABELMAP,
	RELABEL_LABELDROP,
	RELABEL_LABELKEEP,
	RELABEL_LOWERCASE,
	RELABEL_UPPERCASE,
};

/* One rule; the members carry the names of the configuration's keys. */
struct relabel_rule {
	enum relabel_action action;
	struct str *source_labels;
	size_t source_count;
	struct str separator;
	struct str pattern; /* value of the configuration key "regex" */
	/* the compiled pattern, owned; NULL if the pattern was refused */
	struct regex *regex;
	int64_t modulus;
	struct str target_label;
	struct str replacement;
	/*
	 * the rule's node in the configuration, for the line and column in
	 * messages
	 */
	const struct yaml_node *node;
};

/* A list of rules, applied in order. */
struct relabel_rules {
	struct relabel_rule *v;
	size_t count;
};

/* The outcome of a rule that did not fail: whether to keep the labels. */
enum relabel_result {
	RELABEL_DROPPED,
	RELABEL_KEPT,
};

/*
 * Decode a list of rules into the struct relabel_rules at `field`. Errors are
 * reported to y. This function is a yaml_fn.
 */
void relabel_decode(struct yaml *y, const struct yaml_node *list, void *field);

/* Free the regexes of the rules. */
void relabel_rules_fini(struct relabel_rules *rules);

/*
 * Apply one rule to the labels in b. Returns an enum relabel_result, or
 * ERR_LIMIT if the regex took too many steps or a replacement became too long.
 */
NODISCARD int relabel_apply(const struct relabel_rule *rule,
			    struct labels_builder *b, struct err *err);

/*
 * Return whether the rule keeps or drops targets, and its decision depends on
 * the value of the given label.
 */
bool relabel_judges_by(const struct relabel_rule *rule, struct str label);

/*
 * Return whether the rule, by its own text, changes or removes the given label
 * if a set of labels has it. Names of labels that a rule makes of values are not
 * known before it is applied.
 */
bool relabel_changes(const struct relabel_rule *rule, struct str label);

/*
 * Apply the rules in order and stop after a rule that drops the labels. *by
 * (`by` may be NULL) receives the index of the last rule that was reached.
 * Skips the rules for which relabel_judges_by() is true of the label `but`; if
 * `but` is NULL, skips none. Returns the same values as relabel_apply().
 */
NODISCARD int relabel_run(const struct relabel_rules *rules, const char *but,
			  struct labels_builder *b, size_t *by,
			  struct err *err);

/* Return the name of an action as written in the configuration. */
const char *relabel_action_name(enum relabel_action a);

#endif
