/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merge keys of YAML: "<<" takes the pairs of other mappings over.
 *
 * Ownership: nodes are in the arena of the document.
 * Threads: one thread a document.
 */
#ifndef BASE_YAML_MERGE_H
#define BASE_YAML_MERGE_H

#include "base/yaml_private.h"

/*
 * "<<: *anchor" of YAML 1.1: the pairs of another map, or of a list of maps,
 * whose keys the map does not have.
 */
struct yaml_node *yaml_merge_apply(struct yaml_builder *b, struct yaml_node *n);

bool has_merge_key(const struct yaml_node *map);

#endif
