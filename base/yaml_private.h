/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the YAML reader share. No file outside of them includes it.
 *
 * Ownership: nodes are in the arena of the document.
 * Threads: one thread a document.
 */
#ifndef BASE_YAML_PRIVATE_H
#define BASE_YAML_PRIVATE_H

#include <yaml.h>

#include "base/yaml.h"

struct anchor {
	const char *name;
	struct yaml_node *node;
	struct anchor *next;
};

/* State of one parse: events in, nodes out. */
struct yaml_builder {
	struct yaml *y;
	yaml_parser_t parser;
	struct anchor *anchors;
	bool failed;
};

struct yaml_node *yaml_fail(struct yaml_builder *b, yaml_mark_t mark,
			    const char *text);

bool same_key(const void *ctx, uint32_t number, const void *key);

#endif
