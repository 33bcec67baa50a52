/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/report/report_flamegraph.h"

#include "pprof/render/flame.h"
#include "pprof/report.h"
#include "pprof/report/report_top.h"

/* The texts of a node, as indexes in a table of distinct texts. */
struct texts {
	uint32_t name; /* PPROF_NONE: not looked up yet */
	uint32_t file;
	uint32_t binary;
};

/*
 * The texts of all nodes of the report. The table is shared by all trees of an
 * answer: the JSON contains each text once.
 */
struct names {
	struct strtab strings;
	struct texts *of; /* by node */
};

/* Sets all names to PPROF_NONE: all their bits are 1. */
static void names_init(struct names *n, const struct report *r)
{
	size_t size = (r->nodes.v.count + 1) * sizeof(*n->of);

	*n = (struct names){ .of = mem_alloc(size) };
	memset(n->of, 0xff, size);
	(void)strtab_intern(&n->strings, str_of(""));
}

static void names_fini(struct names *n)
{
	strtab_fini(&n->strings);
	mem_free(n->of);
}

/* Whether a tree node is a frame, and not the root or "(other)". */
static bool is_frame(const struct flame_node *n)
{
	return n->node != FLAME_ROOT && n->node != FLAME_OTHER;
}

/*
 * Return the texts of a tree node. A node of the report may occur many times in
 * the tree; its texts are looked up once.
 */
static struct texts find_texts(struct names *n, const struct report *r,
			       const struct flame_node *f)
{
	const struct node *node;
	struct texts *t;

	if (!is_frame(f))
		return (struct texts){ .name = strtab_intern(
					       &n->strings, flame_name(r, f)) };
	node = &r->nodes.v.v[f->node];
	t = &n->of[f->node];
	if (t->name == PPROF_NONE) {
		t->name = strtab_intern(&n->strings, node->text);
		t->file =
			strtab_intern(&n->strings, pprof_str(r->p, node->file));
		t->binary = strtab_intern(&n->strings,
					  pprof_str(r->p, node->binary));
	}
	return *t;
}

/*
 * Write an array of one int64_t member of struct flame_node, given by its
 * offset, for all nodes.
 */
static void write_column(const struct flame *f, const char *name, size_t offset,
			 struct json *j)
{
	json_key(j, name);
	json_begin(j, '[');
	for (size_t i = 0; i < f->v.count; i++) {
		const char *at = (const char *)&f->v.v[i] + offset;
		int64_t v;

		memcpy(&v, at, sizeof(v));
		json_int(j, v);
	}
	json_end(j, ']');
}

/* Write the arrays of indexes in "strings". */
static void write_texts(struct names *names, const struct report *r,
			const struct flame *f, struct json *j)
{
	static const struct {
		const char *key;
		size_t offset;
	} columns[] = {
		{ "name", offsetof(struct texts, name) },
		{ "file", offsetof(struct texts, file) },
		{ "binary", offsetof(struct texts, binary) },
	};

	for (size_t c = 0; c < ARRAY_SIZE(columns); c++) {
		json_key(j, columns[c].key);
		json_begin(j, '[');
		for (size_t i = 0; i < f->v.count; i++) {
			struct texts t = find_texts(names, r, &f->v.v[i]);
			uint32_t v;

			memcpy(&v, (char *)&t + columns[c].offset, sizeof(v));
			json_int(j, v);
		}
		json_end(j, ']');
	}
}

/* Write the table of texts, after all trees. */
static void write_strings(const struct names *n, struct json *j)
{
	json_key(j, "strings");
	json_begin(j, '[');
	for (size_t i = 0; i < n->strings.strings.count; i++)
		json_str(j, n->strings.strings.v[i]);
	json_end(j, ']');
}

/* Write for each node whether it is inlined into its caller. */
static void write_inlined(const struct flame *f, struct json *j)
{
	json_key(j, "inlined");
	json_begin(j, '[');
	for (size_t i = 0; i < f->v.count; i++)
		json_int(j, i && f->v.v[i].inlined);
	json_end(j, ']');
}

/* Write the index of each node's parent; -1 for the root. */
static void write_parents(const struct flame *f, struct json *j)
{
	json_key(j, "parent");
	json_begin(j, '[');
	for (size_t i = 0; i < f->v.count; i++)
		json_int(j, i ? (int64_t)f->v.v[i].parent : -1);
	json_end(j, ']');
}

#define COLUMN(field) offsetof(struct flame_node, field)

/* Write the columns of a tree, and what was left out of it. */
static void write_tree(struct names *names, const struct report *r,
		       const struct flame *f, struct json *j)
{
	write_texts(names, r, f, j);
	write_parents(f, j);
	write_inlined(f, j);
	write_column(f, "self", COLUMN(self), j);
	write_column(f, "total_of", COLUMN(total), j);
	if (f->has_base) {
		write_column(f, "self_a", COLUMN(self_a), j);
		write_column(f, "total_of_a", COLUMN(total_a), j);
	}
	json_key(j, "left_out");
	json_begin(j, '{');
	json_key(j, "nodes");
	json_int(j, (int64_t)f->left_out);
	json_key(j, "weight");
	json_int(j, f->weight_left_out);
	json_end(j, '}');
}

/* Build one tree and write its columns. */
static int build_tree(struct names *names, const struct report *r,
		      enum flame_walk walk, struct json *j, struct err *err)
{
	struct flame f;
	int rc = flame_init(&f, r, walk, r->o->max_nodes, err);

	if (!rc)
		write_tree(names, r, &f, j);
	flame_fini(&f);
	return rc;
}

/* The callers of the pivot are a second tree, next to that of the callees. */
int report_flamegraph_json(struct report *r, struct json *j, struct err *err)
{
	enum flame_walk walk = flame_walk_of(r->o);
	struct names names;
	int rc;

	names_init(&names, r);
	json_begin(j, '{');
	report_head_json(r, j);
	rc = build_tree(&names, r, walk, j, err);
	if (!rc && walk == FLAME_CALLEES) {
		json_key(j, "callers");
		json_begin(j, '{');
		rc = build_tree(&names, r, FLAME_CALLERS, j, err);
		json_end(j, '}');
	}
	write_strings(&names, j);
	json_end(j, '}');
	names_fini(&names);
	return rc;
}
