/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions that the files of the YAML reader share. No other file includes
 * this header.
 *
 * Ownership: nodes and anchors are in the arena of the document.
 * Threads: one thread per document.
 */
#ifndef BASE_YAML_PRIVATE_H
#define BASE_YAML_PRIVATE_H

#include <yaml.h>

#include "base/yaml.h"

/* A named node ("&name") to which aliases ("*name") may refer. */
struct anchor {
	const char *name;
	struct yaml_node *node;
	struct anchor *next;
};

/* State of one parse, which reads libyaml's events and builds nodes. */
struct yaml_builder {
	struct yaml *y; /* the document: nodes, arena and errors */
	yaml_parser_t parser;
	struct anchor *anchors; /* all anchors so far, the latest first */
	bool failed; /* set by the first error, which ends the parse */
};

/*
 * Add a syntax error at a position, unless the parse has failed already, and
 * mark the parse as failed. Returns NULL, so that callers write `return
 * yaml_fail(...)`.
 */
struct yaml_node *yaml_fail(struct yaml_builder *b, yaml_mark_t mark,
			    const char *text);

/*
 * Compare keys of a map; a table_same_fn. `ctx` is the map's node, `number`
 * the index of a key in the map's items, `key` a struct str.
 */
bool yaml_same_key(const void *ctx, uint32_t number, const void *key);

/*
 * Return n as a mutable node. Decoders see the tree as constant, but mark nodes
 * as secret or ignored; this is safe, because the tree is never in read-only
 * memory.
 */
struct yaml_node *yaml_own_node(const struct yaml_node *n);

/*
 * Replace each merge key of map n ("<<: *anchor") by the pairs of the map, or
 * of the list of maps, to which the merge key refers; pairs whose key n already
 * has are left out. Returns n. When a merge key refers to anything else, adds a
 * syntax error and returns NULL.
 */
struct yaml_node *yaml_merge_apply(struct yaml_builder *b, struct yaml_node *n);

/* Whether a map has a merge key, so that it needs yaml_merge_apply(). */
bool yaml_has_merge_key(const struct yaml_node *map);

#endif
