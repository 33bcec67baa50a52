/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relabelling: rules that change, keep or drop a set of labels, with the
 * meaning of Prometheus' relabel_configs.
 *
 * Source: prometheus.io/docs/prometheus/latest/configuration/configuration,
 * relabel_config; hashmod takes the last 8 bytes of an MD5, big-endian.
 *
 * Ownership: rules live in the struct yaml that they were decoded from, but
 * for their expressions: relabel_rules_fini().
 * Threads: rules belong to one thread at a time, as expressions do.
 */
#ifndef MODEL_RELABEL_H
#define MODEL_RELABEL_H

#include "base/yaml.h"
#include "model/labels.h"
#include "model/regex.h"

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

struct relabel_rule {
	enum relabel_action action;
	struct str *source_labels;
	size_t source_count;
	struct str separator;
	struct str pattern;
	struct regex *regex;
	int64_t modulus;
	struct str target_label;
	struct str replacement;
	const struct yaml_node *node; /* where it stands */
};

struct relabel_rules {
	struct relabel_rule *v;
	size_t count;
};

enum relabel_result {
	RELABEL_DROPPED,
	RELABEL_KEPT,
};

/*
 * Decode a list of rules into the struct relabel_rules at field; errors go to
 * y. A yaml_fn.
 */
void relabel_decode(struct yaml *y, const struct yaml_node *list, void *field);
void relabel_rules_fini(struct relabel_rules *rules);

/*
 * One rule. enum relabel_result, or ERR_LIMIT: an expression took too many
 * steps on these labels.
 */
NODISCARD int relabel_apply(const struct relabel_rule *rule,
			    struct labels_builder *b, struct err *err);

/* Whether the rule keeps or drops by that label, perhaps among others. */
bool relabel_judges_by(const struct relabel_rule *rule, struct str label);

/*
 * All of them, up to the one that drops the labels, *by (may be NULL). Those
 * that judge by the label `but` are passed over; NULL: none.
 */
NODISCARD int relabel_run(const struct relabel_rules *rules, const char *but,
			  struct labels_builder *b, size_t *by,
			  struct err *err);

const char *relabel_action_name(enum relabel_action a);

#endif
