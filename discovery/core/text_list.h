/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of texts in a configuration.
 *
 * Ownership: texts are borrowed from the struct yaml that they were decoded
 * from.
 * Threads: immutable once decoded.
 */
#ifndef DISCOVERY_CORE_TEXT_LIST_H
#define DISCOVERY_CORE_TEXT_LIST_H

#include "base/yaml.h"

/* A list of texts. */
struct text_list {
	struct str *v;
	size_t count;
};

/* Decode a list of texts into a struct text_list; a yaml_fn. */
void yaml_text_list(struct yaml *y, const struct yaml_node *n, void *field);

/* Return whether the list has an element equal to `text`. */
bool text_list_has(const struct text_list *l, struct str text);

#endif
