/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of YAML nodes: texts, numbers, durations, sizes. The public functions
 * are in yaml.h.
 *
 * Ownership: values are in the arena of the document.
 * Threads: one thread a document.
 */
#ifndef BASE_YAML_VALUE_H
#define BASE_YAML_VALUE_H

#include "base/yaml.h"

/* The tree is the parser's own: who decodes it sees it as constant. */
struct yaml_node *own_node(const struct yaml_node *n);

#endif
