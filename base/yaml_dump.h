/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Write a YAML document again, without its secrets.
 *
 * Ownership: appends to the caller's buffer.
 * Threads: any.
 */
#ifndef BASE_YAML_DUMP_H
#define BASE_YAML_DUMP_H

#include "base/yaml.h"

/*
 * Write a tree as YAML, in blocks, aliases written out; for a secret,
 * <secret> is written unless all is to be shown.
 */
void yaml_dump(const struct yaml_node *n, bool show_secrets, struct buf *out);

#endif
