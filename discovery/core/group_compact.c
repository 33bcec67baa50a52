/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/core/group_compact.h"

#include "base/mem.h"

/* A copy that is being made. */
struct compaction {
	struct text_pool *texts;
	struct arena *arena; /* arena of the copy */
	VEC(bool) owned; /* for each label value: whether the copy owns it */
	size_t next;     /* index in `owned` of the next value to be copied */
	size_t room;     /* bytes of the copy's arrays in its arena */
	size_t text_len; /* bytes of the values that the copy owns */
	char *text;      /* where the next value is copied to */
};

/*
 * Pass the values of the list `l` to text_pool_share(), which replaces some of
 * them by texts of the pool, and count the bytes that a copy of `l` needs.
 */
static void compaction_measure(struct compaction *c, const struct label_list *l)
{
	c->room += arena_room(l->count * sizeof(*l->v));
	for (size_t i = 0; i < l->count; i++) {
		bool owned = !text_pool_share(c->texts, &l->v[i].value);

		*vec_add(&c->owned) = owned;
		c->text_len += owned ? l->v[i].value.len : 0;
	}
}

/*
 * Copy the list `l`. Label names and shared values are texts of the pool; the
 * other values are copied to c->text.
 */
static struct label_list compaction_copy(struct compaction *c,
					 const struct label_list *l)
{
	struct label_list copy = { .count = l->count };

	copy.v = arena_array(c->arena, struct label, l->count);
	for (size_t i = 0; i < l->count; i++) {
		struct label *one = &copy.v[i];

		*one = l->v[i];
		one->name = text_pool_add(c->texts, one->name);
		if (!c->owned.v[c->next++] || !one->value.len)
			continue;
		memcpy(c->text, one->value.ptr, one->value.len);
		one->value.ptr = c->text;
		c->text += one->value.len;
	}
	return copy;
}

/* Copy a group. */
static void compaction_copy_group(struct compaction *c,
				  const struct target_group *g,
				  struct target_group *copy)
{
	copy->labels = compaction_copy(c, &g->labels);
	copy->target_count = g->target_count;
	copy->targets =
		arena_array(c->arena, struct label_list, g->target_count);
	for (size_t i = 0; i < g->target_count; i++)
		copy->targets[i] = compaction_copy(c, &g->targets[i]);
}

struct target_groups *target_groups_compact(struct target_groups *g,
					    struct text_pool *texts)
{
	struct target_groups *copy = target_groups_new();
	struct compaction c = { .texts = texts, .arena = &copy->arena };

	c.room = arena_room(g->count * sizeof(*g->v));
	for (size_t i = 0; i < g->count; i++) {
		const struct target_group *one = &g->v[i];

		compaction_measure(&c, &one->labels);
		c.room += arena_room(one->target_count * sizeof(*one->targets));
		for (size_t k = 0; k < one->target_count; k++)
			compaction_measure(&c, &one->targets[k]);
	}
	arena_reserve(c.arena, c.room + arena_room(c.text_len));
	c.text = arena_alloc(c.arena, c.text_len);
	copy->v = arena_array(c.arena, struct target_group, g->count);
	for (size_t i = 0; i < g->count; i++)
		compaction_copy_group(&c, &g->v[i], &copy->v[i]);
	copy->count = g->count;
	copy->targets = g->targets;
	copy->texts = text_pool_ref(texts);
	vec_fini(&c.owned);
	return copy;
}

static bool label_lists_eq(const struct label_list *a,
			   const struct label_list *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		if (!str_eq(a->v[i].name, b->v[i].name) ||
		    !str_eq(a->v[i].value, b->v[i].value))
			return false;
	}
	return true;
}

static bool target_group_eq(const struct target_group *a,
			    const struct target_group *b)
{
	if (a->target_count != b->target_count ||
	    !label_lists_eq(&a->labels, &b->labels))
		return false;
	for (size_t i = 0; i < a->target_count; i++) {
		if (!label_lists_eq(&a->targets[i], &b->targets[i]))
			return false;
	}
	return true;
}

bool target_groups_eq(const struct target_groups *a,
		      const struct target_groups *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		if (!target_group_eq(&a->v[i], &b->v[i]))
			return false;
	}
	return true;
}
