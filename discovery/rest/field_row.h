/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of labels: each row says from which value of an answer a label is
 * made.
 *
 * Ownership: tables are constants; labels are copied to the builder.
 * Threads: one thread at a time.
 */
#ifndef DISCOVERY_REST_FIELD_ROW_H
#define DISCOVERY_REST_FIELD_ROW_H

#include "discovery/core/group_builder.h"
#include "discovery/rest/document.h"

/* How a value becomes the value of a label. */
enum field_form {
	FIELD_TEXT,  /* a text, a number, true or false */
	FIELD_BOOL,  /* true or false; false if the value is absent */
	FIELD_INT,   /* a number; 0 if the value is absent */
	FIELD_LOWER, /* a text in lower-case letters */
	/* a list: one separator, then each item with a separator after it */
	FIELD_LIST,
	/*
	 * an object: for each key, a label <label><key> with the value of the
	 * key
	 */
	FIELD_MAP,
	/* an object: for each key, a label <label><key> with the value true */
	FIELD_PRESENT
};

/*
 * The row of one label or, with FIELD_MAP and FIELD_PRESENT, of several labels.
 */
struct field_row {
	const char *label; /* NULL ends a table */
	const char *path;  /* path in the item, see document.h */
	enum field_form form;
};

/*
 * Add the labels of a table to the group or target that was begun last. `item`
 * is the value in which the paths begin, and `separator` is for FIELD_LIST. A
 * row whose value is absent or empty adds no label, except with FIELD_BOOL and
 * FIELD_INT.
 */
void field_rows_add(struct group_builder *b, const struct field_row *rows,
		    const struct yaml_node *item, struct str separator);

/*
 * Add the label `label`, whose value is the items of `list` in the form that
 * FIELD_LIST describes. An empty list adds no label.
 */
void field_list_add(struct group_builder *b, const char *label,
		    const struct yaml_node *list, struct str separator);

#endif
