/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/report/report_flamegraph.h"

#include "pprof/render/flame.h"
#include "pprof/report.h"
#include "pprof/report/report_top.h"

/*
 * The name and the file of each node of the report, as indexes in a table of
 * distinct texts: the JSON contains each text once.
 */
struct names {
	struct strtab strings;
	uint32_t *name; /* index of the name, by node, or PPROF_NONE */
	/* Index of the file, by node; set together with the node's name. */
	uint32_t *file;
};

/*
 * Sets only the elements of `name` to PPROF_NONE (all bits 1): as long as the
 * name of a node is not known, `file` is not read.
 */
static void names_init(struct names *n, const struct report *r)
{
	size_t size = (r->nodes.v.count + 1) * sizeof(uint32_t);

	*n = (struct names){ .name = mem_alloc(size), .file = mem_alloc(size) };
	memset(n->name, 0xff, size);
	(void)strtab_intern(&n->strings, str_of(""));
}

static void names_fini(struct names *n)
{
	strtab_fini(&n->strings);
	mem_free(n->name);
	mem_free(n->file);
}

/* Whether a tree node is a frame, and not the root or "(other)". */
static bool is_frame(const struct flame_node *n)
{
	return n->node != FLAME_ROOT && n->node != FLAME_OTHER;
}

/*
 * Look up the name and the file of a tree node, and set *name and *file to
 * their indexes in the table of texts. A node of the report may occur many
 * times in the tree; its texts are looked up once.
 */
static void find_names(struct names *n, const struct report *r,
		       const struct flame_node *f, uint32_t *name,
		       uint32_t *file)
{
	uint32_t i = f->node;

	if (!is_frame(f)) {
		*name = strtab_intern(&n->strings, flame_name(r, f));
		*file = 0;
		return;
	}
	if (n->name[i] == PPROF_NONE) {
		struct str path = pprof_str(r->p, r->nodes.v.v[i].file);

		n->name[i] = strtab_intern(&n->strings, flame_name(r, f));
		n->file[i] = strtab_intern(&n->strings, path);
	}
	*name = n->name[i];
	*file = n->file[i];
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

/* Write an array of indexes in "strings". */
static void write_places(const uint32_t *v, size_t count, const char *name,
			 struct json *j)
{
	json_key(j, name);
	json_begin(j, '[');
	for (size_t i = 0; i < count; i++)
		json_int(j, v[i]);
	json_end(j, ']');
}

/* Write "strings", then "name" and "file" of each tree node. */
static void write_names(const struct report *r, const struct flame *f,
			struct json *j)
{
	size_t count = f->v.count;
	uint32_t *names = mem_alloc(count * sizeof(*names));
	uint32_t *files = mem_alloc(count * sizeof(*files));
	struct names n;

	names_init(&n, r);
	for (size_t i = 0; i < count; i++)
		find_names(&n, r, &f->v.v[i], &names[i], &files[i]);
	json_key(j, "strings");
	json_begin(j, '[');
	for (size_t i = 0; i < n.strings.strings.count; i++)
		json_str(j, n.strings.strings.v[i]);
	json_end(j, ']');
	write_places(names, count, "name", j);
	write_places(files, count, "file", j);
	names_fini(&n);
	mem_free(names);
	mem_free(files);
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

int report_flamegraph_json(struct report *r, struct json *j, struct err *err)
{
	struct flame f;
	int rc = flame_init(&f, r, r->o->max_nodes, err);

	if (rc) {
		flame_fini(&f);
		return rc;
	}
	json_begin(j, '{');
	report_head_json(r, j);
	write_names(r, &f, j);
	write_parents(&f, j);
	write_column(&f, "self", COLUMN(self), j);
	write_column(&f, "total_of", COLUMN(total), j);
	if (f.has_base) {
		write_column(&f, "self_a", COLUMN(self_a), j);
		write_column(&f, "total_of_a", COLUMN(total_a), j);
	}
	json_end(j, '}');
	flame_fini(&f);
	return 0;
}
