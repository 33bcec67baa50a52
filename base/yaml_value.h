/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of YAML nodes: texts, numbers, durations, sizes. The public functions
 * are declared in yaml.h.
 *
 * Ownership: values are in the arena of the document.
 * Threads: one thread per document.
 */
#ifndef BASE_YAML_VALUE_H
#define BASE_YAML_VALUE_H

#include "base/yaml.h"

/*
 * Return n as a mutable node. Decoders see the tree as constant, but mark nodes
 * as secret or ignored; this is safe, because the tree is never in read-only
 * memory.
 */
struct yaml_node *own_node(const struct yaml_node *n);

#endif
