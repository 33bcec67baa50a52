/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The key `filters` of service discoveries: a list of names, each with a list
 * of values.
 *
 * Threads: one thread per document.
 */
#ifndef DISCOVERY_REST_FILTER_LIST_H
#define DISCOVERY_REST_FILTER_LIST_H

#include "base/yaml.h"

/*
 * Check the value of `filters`, and report mistakes to `y`. Returns whether
 * there are none. The value must be a list of maps, each with a text `name`
 * and, optionally, a list of texts `values`.
 */
bool filter_list_check(struct yaml *y, const struct yaml_node *n);

#endif
