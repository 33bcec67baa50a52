/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML out: a tree as text that reads back as the same tree.
 */
#include "base/json.h"
#include "base/yaml.h"

struct dumper {
	struct buf *out;
	bool show_secrets;
};

static void put_scalar(const struct dumper *d, const struct yaml_node *n)
{
	if (n->secret && n->text.len && !d->show_secrets)
		buf_str(d->out, "<secret>");
	else if (n->quoted)
		json_quote(d->out, n->text);
	else
		buf_add(d->out, n->text.ptr, n->text.len);
}

static void indent(const struct dumper *d, unsigned depth)
{
	while (depth--)
		buf_str(d->out, "  ");
}

static void put(const struct dumper *d, const struct yaml_node *n,
		unsigned depth);

/* A value behind its key or dash: on that line, or below it. */
static void put_value(const struct dumper *d, const struct yaml_node *n,
		      unsigned depth)
{
	if (n->kind == YAML_SCALAR || !n->count) {
		buf_byte(d->out, ' ');
		put(d, n, depth);
		buf_byte(d->out, '\n');
	} else {
		buf_byte(d->out, '\n');
		put(d, n, depth);
	}
}

static void put(const struct dumper *d, const struct yaml_node *n,
		unsigned depth)
{
	if (n->kind == YAML_SCALAR) {
		put_scalar(d, n);
		return;
	}
	if (!n->count)
		buf_str(d->out, n->kind == YAML_LIST ? "[]" : "{}");
	for (size_t i = 0; i < n->count; i++) {
		indent(d, depth);
		if (n->kind == YAML_MAP) {
			put_scalar(d, n->items[i++]);
			buf_byte(d->out, ':');
		} else {
			buf_byte(d->out, '-');
		}
		put_value(d, n->items[i], depth + 1);
	}
}

void yaml_dump(const struct yaml_node *n, bool show_secrets, struct buf *out)
{
	const struct dumper d = { .out = out, .show_secrets = show_secrets };

	if (!n)
		return;
	put(&d, n, 0);
	if (n->kind == YAML_SCALAR || !n->count)
		buf_byte(out, '\n');
}
