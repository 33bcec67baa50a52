/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/columns/remap.h"

#include "pprof/dictionary/borrow.h"
#include "pprof/dictionary/intern.h"
#include "pprof/dictionary/layout.h"
#include "pprof/profile/index_map.h"
#include "pprof/proto/fields.h"

/*
 * Maximum number of mappings in the old dictionary. The interner tries equal
 * mappings one by one (member `twin`); this bounds the time.
 */
#define MAPPINGS_MAX 1024

/*
 * A translation. To the interner (intern.h), the old dictionary looks like a
 * profile, `p`. Addresses in a dictionary are relative to their mapping, so the
 * mappings of p start at 0. The only sample of p is the key being looked up.
 */
struct remap {
	const struct dictionary *from;
	struct intern *to;
	struct pprof p;
	/* Maps from numbers of the old dictionary to those of the new one. */
	struct place_map keys;
	struct place_map layouts;
	struct place_map shapes;
	/* Words of the shape (order of fields, layout.h) being translated. */
	VEC(uint32_t) words;
	uint32_t last; /* key of the new dictionary that was found last */
};

/* Fill the profile r->p, which borrows the old dictionary's arrays. */
static void make_profile(struct remap *r)
{
	const struct dictionary *d = r->from;
	struct pprof *p = &r->p;

	vec_borrow(&p->strings.strings, &d->strings.strings);
	vec_borrow(&p->functions, &d->functions);
	vec_borrow(&p->lines, &d->lines);
	vec_borrow(&p->locations, &d->locations);
	vec_borrow(&p->labels, &d->labels);
	vec_borrow(&p->label_sets, &d->label_sets);
	for (size_t i = 0; i < d->mappings.count; i++) {
		const struct dict_mapping *m = &d->mappings.v[i];

		*vec_add(&p->mappings) =
			(struct pprof_mapping){ .limit = m->size,
						.offset = m->offset,
						.file = m->file,
						.build_id = m->build_id };
	}
	vec_reserve(&p->frames, 1);
	*vec_add(&p->stacks) = (struct pprof_run){ 0 };
	*vec_add(&p->samples) = (struct pprof_sample){ 0 };
}

/* From intern_begin() on, the interner looks up elements of r->p. */
int remap_new(const struct dictionary *from, struct intern *to,
	      struct remap **out, struct err *err)
{
	struct remap *r;

	if (from->mappings.count > MAPPINGS_MAX)
		return err_set(err, ERR_UNSUPPORTED,
			       "the table has too many mappings");
	r = mem_new(struct remap);
	r->from = from;
	r->to = to;
	make_profile(r);
	placemap_reset(&r->keys, from->keys.count);
	placemap_reset(&r->layouts, from->layouts.count);
	placemap_reset(&r->shapes, from->shapes.count);
	intern_begin(to, &r->p);
	intern_mappings(to);
	*out = r;
	return 0;
}

/* Give borrowed arrays back before pprof_fini(), which would free them. */
void remap_free(struct remap *r)
{
	if (!r)
		return;
	vec_give_back(&r->p.strings.strings);
	vec_give_back(&r->p.functions);
	vec_give_back(&r->p.lines);
	vec_give_back(&r->p.locations);
	vec_give_back(&r->p.labels);
	vec_give_back(&r->p.label_sets);
	pprof_fini(&r->p);
	vec_fini(&r->keys.to);
	vec_fini(&r->layouts.to);
	vec_fini(&r->shapes.to);
	vec_fini(&r->words);
	mem_free(r);
}

/*
 * Find or add a key of the old dictionary in the new one, and return its number
 * there. For the interner, the key is made the only sample of r->p.
 */
static uint32_t find_key(struct remap *r, uint32_t key)
{
	const struct dict_node *nodes = r->from->nodes.v;
	struct pprof_sample k = r->from->keys.v[key];
	struct pprof *p = &r->p;

	p->frames.count = 0;
	for (uint32_t n = k.stack; n != DICT_ROOT; n = nodes[n].parent)
		*vec_add(&p->frames) = nodes[n].location;
	p->stacks.v[0].count = (uint32_t)p->frames.count;
	p->samples.v[0].labels = k.labels;
	return intern_key(r->to, 0, r->last + 1);
}

/*
 * Translate a key; each key is looked up once. The last result, r->last, helps
 * the lookup: consecutive keys of the old dictionary are mostly consecutive in
 * the new dictionary, too.
 */
static uint32_t map_key(struct remap *r, uint32_t key)
{
	uint32_t *to = &r->keys.to.v[key];

	if (*to == PPROF_NONE) {
		*to = find_key(r, key);
		r->last = *to;
	}
	return *to;
}

/* Translate a layout; each layout is looked up once. */
static uint32_t map_layout(struct remap *r, uint32_t layout)
{
	uint32_t *to = &r->layouts.to.v[layout];
	struct pprof_run run = r->from->layouts.v[layout];

	if (*to == PPROF_NONE)
		*to = intern_bindings(r->to, r->from->bindings.v + run.first,
				      run.count);
	return *to;
}

/*
 * Find or add a shape of the old dictionary in the new one, and return its
 * number there. The fields stay the same; the texts get new numbers.
 */
static uint32_t find_shape(struct remap *r, uint32_t shape)
{
	enum dialect dialect;
	struct layout_walk_shape w =
		layout_walk_shape(r->from, shape, &dialect);
	struct shape_op op;

	r->words.count = 0;
	*vec_add(&r->words) = dialect;
	while (layout_next_shape(&w, &op)) {
		*vec_add(&r->words) = op.field;
		if (op.field == PROFILE_COMMENT)
			*vec_add(&r->words) = (uint32_t)op.count;
		for (size_t i = 0; i < op.count; i++) {
			uint32_t text = 0;

			/*
			 * Cannot fail, because layout_valid_shape() has checked the
			 * text numbers.
			 */
			(void)intern_string(r->to, op.operands[i], &text);
			*vec_add(&r->words) = text;
		}
	}
	return intern_shape(r->to, r->words.v, (uint32_t)r->words.count);
}

/* Translate a shape; each shape is looked up once. */
static uint32_t map_shape(struct remap *r, uint32_t shape)
{
	uint32_t *to = &r->shapes.to.v[shape];

	if (*to == PPROF_NONE)
		*to = find_shape(r, shape);
	return *to;
}

void remap_group(struct remap *r, struct colgroup *g)
{
	for (size_t i = 0; i < g->count; i++) {
		g->rows[i].shape = map_shape(r, g->rows[i].shape);
		g->rows[i].layout = map_layout(r, g->rows[i].layout);
	}
	for (size_t i = 0; i < g->keys.count; i++)
		g->keys.v[i] = map_key(r, g->keys.v[i]);
}
