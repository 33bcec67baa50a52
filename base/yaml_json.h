/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON input as YAML nodes, so that one decoder and its tables of fields serve
 * both formats.
 *
 * Ownership: nodes are in the arena of the document.
 * Threads: one thread per document.
 */
#ifndef BASE_YAML_JSON_H
#define BASE_YAML_JSON_H

#include "base/yaml.h"

/*
 * Initialise *y and parse JSON text into it, as yaml_parse() parses YAML, with
 * the same limits. Nodes have no positions. Of duplicate keys the last counts, as
 * in Go. The caller calls yaml_fini() in every case.
 */
void yaml_parse_json(struct yaml *y, const char *file, struct bytes text);

#endif
