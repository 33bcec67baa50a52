/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML output: a tree is written as text that a parser reads back as the same
 * tree, except for hidden values; and as a key, which only equal trees share.
 */
#include "base/yaml_dump.h"

#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/yaml.h"

/* State of one dump. */
struct dumper {
	struct buf *out;
	bool show_secrets;
};

/*
 * Append a scalar as it was read: quoted or plain. An empty secret is shown as
 * empty, so that a missing password is noticed.
 */
static void put_scalar(const struct dumper *d, const struct yaml_node *n)
{
	if (n->secret && n->text.len && !d->show_secrets)
		buf_str(d->out, "<secret>");
	else if (n->quoted)
		json_quote(d->out, n->text);
	else
		buf_add(d->out, n->text.ptr, n->text.len);
}

/* Append the indentation, two spaces per level. */
static void yaml_dump_write_indent(const struct dumper *d, unsigned depth)
{
	while (depth--)
		buf_str(d->out, "  ");
}

/*
 * Append a node, indented by `depth` levels. If `begun` is true, the node
 * follows the dash of a list item, on the same line, so its first item is not
 * indented.
 */
static void yaml_dump_put(const struct dumper *d, const struct yaml_node *n,
			  unsigned depth, bool begun);

/*
 * Append the value after a key or a dash: scalars and empty collections go on
 * the same line, other collections on a new line after a key, or directly after
 * a dash.
 */
static void put_value(const struct dumper *d, const struct yaml_node *n,
		      unsigned depth, bool in_list)
{
	bool one_line = n->kind == YAML_SCALAR || !n->count;

	buf_byte(d->out, one_line || in_list ? ' ' : '\n');
	yaml_dump_put(d, n, depth, in_list);
	if (one_line)
		buf_byte(d->out, '\n');
}

static void yaml_dump_put(const struct dumper *d, const struct yaml_node *n,
			  unsigned depth, bool begun)
{
	bool list = n->kind == YAML_LIST;

	if (n->kind == YAML_SCALAR) {
		put_scalar(d, n);
		return;
	}
	if (!n->count)
		buf_str(d->out, list ? "[]" : "{}");
	for (size_t i = 0; i < n->count; i++) {
		if (i || !begun)
			yaml_dump_write_indent(d, depth);
		if (list)
			buf_byte(d->out, '-');
		else
			/* A map's items alternate: key here, value below. */
			put_scalar(d, n->items[i++]);
		if (!list)
			buf_byte(d->out, ':');
		if (!list && n->items[i - 1]->ignored && !d->show_secrets)
			/*
			 * The value may contain secrets (docs/decisions.md,
			 * 77).
			 */
			buf_str(d->out, " <ignored>\n");
		else
			put_value(d, n->items[i], depth + 1, list);
	}
}

/*
 * yaml_dump_put() ends the line after the last item of a collection. After a
 * scalar or an empty collection the line is ended here.
 */
void yaml_dump(const struct yaml_node *n, bool show_secrets, struct buf *out)
{
	const struct dumper d = { .out = out, .show_secrets = show_secrets };

	if (!n)
		return;
	yaml_dump_put(&d, n, 0, false);
	if (n->kind == YAML_SCALAR || !n->count)
		buf_byte(out, '\n');
}

/* Orders pairs of key and value by the text of the key. */
static int compare_pairs(const void *a, const void *b)
{
	struct yaml_node *const *x = a;
	struct yaml_node *const *z = b;

	return str_cmp((*x)->text, (*z)->text);
}

/*
 * Each text is preceded by its length, and each list by its number of items, so
 * that no text can be read in two ways. The recursion is bounded by
 * YAML_DEPTH_MAX.
 */
void yaml_print_key(const struct yaml_node *n, struct buf *out)
{
	size_t bytes = n->count * sizeof(struct yaml_node *);
	struct yaml_node **items;

	if (n->kind == YAML_SCALAR) {
		buf_printf(out, "%c%zu:", n->quoted ? 'q' : 's', n->text.len);
		buf_add(out, n->text.ptr, n->text.len);
		return;
	}
	buf_printf(out, "%c%zu:", n->kind == YAML_MAP ? 'm' : 'l', n->count);
	if (!n->count)
		return;
	items = mem_alloc(bytes);
	memcpy(items, n->items, bytes);
	if (n->kind == YAML_MAP)
		/* NOLINTNEXTLINE(bugprone-sizeof-expression): of pointers */
		qsort(items, n->count / 2, 2 * sizeof(*items), compare_pairs);
	for (size_t i = 0; i < n->count; i++)
		yaml_print_key(items[i], out);
	mem_free(items);
}
