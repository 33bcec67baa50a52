/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer to one step of a refresh (see rest_source.h): the pages that are
 * kept, and the items in them. An item can be found by its key, which is one of
 * its texts.
 *
 * Ownership: an answer owns its pages; items are parts of them.
 * Threads: the manager's loop.
 */
#ifndef DISCOVERY_REST_REST_ANSWER_H
#define DISCOVERY_REST_REST_ANSWER_H

#include "base/table.h"
#include "base/vec.h"
#include "discovery/rest/document.h"

/* The answer to one step; { 0 } is an answer without pages. */
struct rest_answer {
	VEC(struct yaml *) pages;
	VEC(const struct yaml_node *) items;
	VEC(size_t)
	urls; /* for each item: number of its URL, see rest_step.url */
	struct table by_key; /* items by the text at the path rest_step.index */
};

/* Free a page. */
void rest_page_free(struct yaml *page);

/*
 * Add an item, which came from URL number `url`. `index` is the path of the
 * item's key, by which rest_answer_find() finds the item; NULL: the item has no
 * key. Of items with equal keys, the first is found.
 */
void rest_answer_add(struct rest_answer *a, const struct yaml_node *item,
		     size_t url, const char *index);

/* Return the item whose text at `index` is `key`; NULL: there is none. */
const struct yaml_node *rest_answer_find(const struct rest_answer *a,
					 const char *index, struct str key);

/* Free the pages and the lists of an answer. */
void rest_answer_fini(struct rest_answer *a);

#endif
