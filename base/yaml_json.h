/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read JSON as YAML nodes, so that both are decoded by the same tables.
 *
 * Ownership: nodes are in the arena of the document.
 * Threads: one thread a document.
 */
#ifndef BASE_YAML_JSON_H
#define BASE_YAML_JSON_H

#include "base/yaml.h"

/* The same from JSON; its nodes know no positions. */
void yaml_parse_json(struct yaml *y, const char *file, struct bytes text);

#endif
