/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values in answers, found by paths. An answer in JSON or XML is a tree of
 * struct yaml_node.
 *
 * A path is a sequence of keys with dots between them: "image.slug". A key can
 * be followed by conditions in brackets, each of which selects an item of a
 * list: "v4[type=public]" is the first item of `v4` whose `type` is "public",
 * and "v4[0]" is the first item. The empty path is the node itself. Where a
 * list is expected, any other value counts as a list with one item, because an
 * XML element that occurs once does not show whether it belongs to a list.
 *
 * Ownership: results are borrowed from the document.
 * Threads: pure functions.
 */
#ifndef DISCOVERY_REST_DOCUMENT_H
#define DISCOVERY_REST_DOCUMENT_H

#include "base/yaml.h"

/* Return the node at a path; NULL: there is none, or it is null. */
const struct yaml_node *doc_find(const struct yaml_node *n, const char *path);

/*
 * Return the text of the scalar at a path; empty: there is no scalar, or it is
 * null.
 */
struct str doc_text(const struct yaml_node *n, const char *path);

/* Return the number at a path; `absent` if there is none. */
int64_t doc_int(const struct yaml_node *n, const char *path, int64_t absent);

/* Return whether the value at a path is true. */
bool doc_bool(const struct yaml_node *n, const char *path);

/*
 * Return the number of items of `list`: 0 if `list` is NULL or the value null,
 * and 1 if `list` is any other value that is not a list.
 */
size_t doc_count(const struct yaml_node *list);

/* Return item number `i` of a list. */
const struct yaml_node *doc_item(const struct yaml_node *list, size_t i);

/* Return the number of keys of an object; 0 for anything else. */
size_t doc_keys(const struct yaml_node *map);

/* Return key number `i` of an object, and its value in *value. */
struct str doc_key(const struct yaml_node *map, size_t i,
		   const struct yaml_node **value);

#endif
