/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/tagroot.h"

#include "base/hash.h"
#include "pprof/measure.h"

/* The frames made so far: a location for each key and value. */
struct roots {
	struct pprof *p;
	struct table index;
	struct str unit;
	bool any;
};

struct root_key {
	uint32_t name;
	uint32_t file;
};

static bool same_root(const void *ctx, uint32_t i, const void *key)
{
	const struct roots *x = ctx;
	const struct pprof_location *l = &x->p->locations.v[i];
	const struct pprof_function *f =
		&x->p->functions.v[x->p->lines.v[l->lines.first].function];
	const struct root_key *k = key;

	return f->name == k->name && f->file == k->file;
}

static uint32_t root_location(struct roots *x, struct root_key key)
{
	struct pprof *p = x->p;
	uint64_t hash =
		((uint64_t)key.name << 32 | key.file) * 0x9e3779b97f4a7c15u;
	uint32_t i = table_find(&x->index, hash, same_root, x, &key);

	if (i != TABLE_NONE)
		return i;
	i = (uint32_t)p->locations.count;
	*vec_add(&p->locations) = (struct pprof_location){
		.mapping = PPROF_NONE,
		.lines = { (uint32_t)p->lines.count, 1 },
	};
	*vec_add(&p->lines) = (struct pprof_line){
		.function = (uint32_t)p->functions.count,
	};
	*vec_add(&p->functions) = (struct pprof_function){
		.name = key.name,
		.file = key.file,
	};
	table_add(&x->index, hash, i);
	return i;
}

/* All values of a key, by commas. */
static uint32_t values_of(struct roots *x, struct pprof_run set, struct str key)
{
	struct pprof *p = x->p;
	struct buf text = { 0 };
	bool found = false;
	uint32_t name;

	for (uint32_t i = 0; i < set.count; i++) {
		struct pprof_label l = p->labels.v[set.first + i];
		struct str s = pprof_str(p, l.str);

		if (!str_eq(pprof_str(p, l.key), key))
			continue;
		if (found)
			buf_byte(&text, ',');
		if (l.is_number)
			measure_label(&text, l.num, pprof_str(p, l.unit),
				      l.unit ? x->unit : str_of(""));
		else
			buf_add(&text, s.ptr, s.len);
		found = true;
	}
	x->any = x->any || found;
	name = strtab_intern(&p->strings, str_from(buf_bytes(&text)));
	buf_fini(&text);
	return name;
}

static void add_roots(struct roots *x, struct pprof_run set, struct str keys)
{
	struct str rest = keys;
	uint32_t first = (uint32_t)x->p->frames.count;
	uint32_t *v;

	while (rest.len) {
		struct str key = str_cut(rest, ',', &rest);
		struct root_key k;

		if (!key.len)
			continue;
		k.name = values_of(x, set, key);
		k.file = strtab_intern(&x->p->strings, key);
		*vec_add(&x->p->frames) = root_location(x, k);
	}
	/* The first key is the outermost frame, and so the last one. */
	v = x->p->frames.v + first;
	for (size_t a = 0, b = x->p->frames.count - first; a + 1 < b; a++) {
		uint32_t swap = v[a];

		v[a] = v[--b];
		v[b] = swap;
	}
}

bool pprof_tagroot(struct pprof *p, struct str keys, struct str unit)
{
	struct roots x = { .p = p, .unit = unit };

	for (size_t i = 0; i < p->samples.count; i++) {
		struct pprof_sample *s = &p->samples.v[i];
		struct pprof_run old = p->stacks.v[s->stack];
		struct pprof_run new = { .first = (uint32_t)p->frames.count };

		vec_reserve(&p->frames, old.count);
		for (uint32_t k = 0; k < old.count; k++)
			p->frames.v[p->frames.count++] =
				p->frames.v[old.first + k];
		add_roots(&x, p->label_sets.v[s->labels], keys);
		new.count = (uint32_t)p->frames.count - new.first;
		s->stack = (uint32_t)p->stacks.count;
		*vec_add(&p->stacks) = new;
	}
	table_fini(&x.index);
	return x.any;
}
