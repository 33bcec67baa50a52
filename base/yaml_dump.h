/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing a YAML document as text, without its secrets.
 *
 * Threads: one thread per document.
 */
#ifndef BASE_YAML_DUMP_H
#define BASE_YAML_DUMP_H

#include "base/yaml.h"

/*
 * Append the tree below n as YAML in block style, with aliases expanded; NULL
 * appends nothing. Secrets are replaced by <secret>, and values that were
 * not decoded by <ignored>, unless show_secrets is true.
 */
void yaml_dump(const struct yaml_node *n, bool show_secrets, struct buf *out);

#endif
