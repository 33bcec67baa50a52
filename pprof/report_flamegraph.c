/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/flame.h"
#include "pprof/report.h"

static uint32_t file_of(const struct report *r, const struct flame_node *n,
			struct strtab *strings)
{
	if (n->node == FLAME_ROOT || n->node == FLAME_OTHER)
		return 0;
	return strtab_intern(strings,
			     pprof_str(r->p, r->nodes.v.v[n->node].file));
}

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

static void write_places(const uint32_t *v, size_t count, const char *name,
			 struct json *j)
{
	json_key(j, name);
	json_begin(j, '[');
	for (size_t i = 0; i < count; i++)
		json_int(j, v[i]);
	json_end(j, ']');
}

static void write_names(const struct report *r, const struct flame *f,
			struct json *j)
{
	size_t count = f->v.count;
	uint32_t *names = mem_alloc(count * sizeof(*names));
	uint32_t *files = mem_alloc(count * sizeof(*files));
	struct strtab strings = { 0 };

	(void)strtab_intern(&strings, str_of(""));
	for (size_t i = 0; i < count; i++) {
		names[i] = strtab_intern(&strings, flame_name(r, &f->v.v[i]));
		files[i] = file_of(r, &f->v.v[i], &strings);
	}
	json_key(j, "strings");
	json_begin(j, '[');
	for (size_t i = 0; i < strings.strings.count; i++)
		json_str(j, strings.strings.v[i]);
	json_end(j, ']');
	write_places(names, count, "name", j);
	write_places(files, count, "file", j);
	strtab_fini(&strings);
	mem_free(names);
	mem_free(files);
}

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
