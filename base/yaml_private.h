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
 * Return n as a mutable node. Decoders see the tree as constant, but mark nodes
 * as secret, ignored or refused; this is safe, because the tree is never in read-only
 * memory.
 */
struct yaml_node *yaml_own_node(const struct yaml_node *n);

#endif
