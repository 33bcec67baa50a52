/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/rest/field_row.h"

void field_list_add(struct group_builder *b, const char *label,
		    const struct yaml_node *list, struct str separator)
{
	struct buf text = { 0 };

	if (!doc_count(list))
		return;
	buf_add(&text, separator.ptr, separator.len);
	for (size_t i = 0; i < doc_count(list); i++) {
		struct str item = doc_text(doc_item(list, i), "");

		buf_add(&text, item.ptr, item.len);
		buf_add(&text, separator.ptr, separator.len);
	}
	group_label(b, label, str_from(buf_bytes(&text)));
	buf_fini(&text);
}

/*
 * Add a label for each key of the object `map`: with the value of the key, or with
 * "true" if the form of the row is FIELD_PRESENT.
 */
static void add_map(struct group_builder *b, const struct field_row *row,
		    const struct yaml_node *map)
{
	for (size_t i = 0; i < doc_keys(map) && !group_is_over(b); i++) {
		const struct yaml_node *value;
		struct str key = doc_key(map, i, &value);
		struct str text = row->form == FIELD_PRESENT ?
					  str_of("true") :
					  doc_text(value, "");

		group_label_of(b, row->label, key, text);
	}
}

static void add_lower(struct group_builder *b, const char *label,
		      struct str value)
{
	struct buf text = { 0 };

	buf_lower(&text, value);
	group_label(b, label, str_from(buf_bytes(&text)));
	buf_fini(&text);
}

/* Add the label, or labels, of one row. */
static void add_row(struct group_builder *b, const struct field_row *row,
		    const struct yaml_node *item, struct str separator)
{
	const struct yaml_node *n = doc_find(item, row->path);

	switch (row->form) {
	case FIELD_TEXT:
		group_label(b, row->label, doc_text(n, ""));
		break;
	case FIELD_BOOL:
		group_label(b, row->label,
			    str_of(doc_bool(n, "") ? "true" : "false"));
		break;
	case FIELD_INT:
		group_label_int(b, row->label, doc_int(n, "", 0));
		break;
	case FIELD_LOWER:
		add_lower(b, row->label, doc_text(n, ""));
		break;
	case FIELD_LIST:
		field_list_add(b, row->label, n, separator);
		break;
	case FIELD_MAP:
	case FIELD_PRESENT:
		add_map(b, row, n);
		break;
	}
}

void field_rows_add(struct group_builder *b, const struct field_row *rows,
		    const struct yaml_node *item, struct str separator)
{
	for (; rows->label && !group_is_over(b); rows++)
		add_row(b, rows, item, separator);
}
