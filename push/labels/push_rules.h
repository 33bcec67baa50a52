/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Push rules: make the labels of a series from those that a client sent, by the
 * section "push" of the configuration.
 *
 * Ownership: push_rules_free() frees rules. A configuration is borrowed until
 * the next push_rules_apply(), or until the rules are freed.
 * Threads: any; a lock is inside, as relabelling rules are used by one thread at
 * a time.
 */
#ifndef PUSH_LABELS_PUSH_RULES_H
#define PUSH_LABELS_PUSH_RULES_H

#include "push/labels/push_config.h"
#include "push/labels/push_labels.h"

struct push_rules;

/* Create rules without a configuration; never fails. */
struct push_rules *push_rules_new(void);

/* Free rules that no thread uses any more. NULL is a no-op. */
void push_rules_free(struct push_rules *r);

/* Use a configuration. */
void push_rules_apply(struct push_rules *r, const struct push_config *config);

/*
 * Copy the names of the resource attributes of OTLP that become labels of series, the
 * configured or the default ones, and return their number.
 */
size_t push_rules_resource_labels(struct push_rules *r, struct arena *arena,
				  struct str out[PUSH_RESOURCE_LABELS_MAX]);

/*
 * Complete the labels of the builder, and apply the relabelling rules to them.
 * These also see the labels __address__, __meta_push_protocol and
 * __meta_push_agent, which are removed then. Returns RELABEL_KEPT or
 * RELABEL_DROPPED. ERR_INVALID: a rule failed, or removed the label __name__.
 */
NODISCARD int push_rules_run(struct push_rules *r,
			     const struct push_origin *origin,
			     struct labels_builder *b, struct err *err);

#endif
