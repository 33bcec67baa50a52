/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merge keys of YAML 1.1: "<<" includes the pairs of other maps in a map.
 *
 * Ownership: nodes are in the arena of the document.
 * Threads: one thread per document.
 */
#ifndef BASE_YAML_MERGE_H
#define BASE_YAML_MERGE_H

#include "base/yaml_private.h"

/*
 * Replace each merge key of map n ("<<: *anchor") by the pairs of the map, or
 * of the list of maps, to which the merge key refers; pairs whose key n already
 * has are left out. Returns n. When a merge key refers to anything else, adds a
 * syntax error and returns NULL.
 */
struct yaml_node *yaml_merge_apply(struct yaml_builder *b, struct yaml_node *n);

/* Whether a map has a merge key, so that it needs yaml_merge_apply(). */
bool has_merge_key(const struct yaml_node *map);

#endif
