/* SPDX-License-Identifier: Apache-2.0 */
/* Compact target groups, and the texts that they share. */
#include "base/mem.h"
#include "discovery/core/group_builder.h"
#include "discovery/core/group_compact.h"
#include "tests/check.h"

TestSuite(group_compact, .timeout = 60);

/* Returns compact groups with one group and one target. */
static struct target_groups *make(struct text_pool *texts, const char *node,
				  const char *name)
{
	struct target_groups *compact;
	struct target_groups *g;
	struct group_builder b;

	group_builder_init(&b);
	group_begin(&b);
	group_label(&b, "node", str_of(node));
	group_target(&b);
	group_label(&b, "name", str_of(name));
	cr_assert(!group_builder_take(&b, &g, NULL));
	compact = target_groups_compact(g, texts);
	cr_expect(target_groups_eq(g, compact));
	cr_assert(compact->count == 1);
	cr_expect(compact->targets == 1);
	target_groups_unref(g);
	group_builder_fini(&b);
	return compact;
}

Test(group_compact, names_and_repeated_values_are_stored_once)
{
	struct text_pool *texts = text_pool_new();
	struct target_groups *a = make(texts, "n1", "a");
	struct target_groups *b = make(texts, "n1", "b");
	struct target_groups *c = make(texts, "n1", "c");

	cr_expect(a->v[0].labels.v[0].name.ptr == c->v[0].labels.v[0].name.ptr);
	cr_expect(b->v[0].labels.v[0].value.ptr ==
		  c->v[0].labels.v[0].value.ptr);
	cr_expect(!target_groups_eq(b, c));
	/* The texts live as long as groups use them. */
	text_pool_unref(texts);
	target_groups_unref(a);
	target_groups_unref(b);
	cr_expect(str_is(c->v[0].labels.v[0].value, "n1"));
	cr_expect(str_is(c->v[0].targets[0].v[0].value, "c"));
	target_groups_unref(c);
}

Test(group_compact, a_full_pool_is_replaced)
{
	struct text_pool *texts = text_pool_new();
	struct text_pool *first = texts;
	struct target_groups *old = make(texts, "x", "y");
	char name[80];

	for (int i = 0; texts == first; i++) {
		snprintf(name, sizeof(name), "name %060d", i);
		(void)text_pool_add(texts, str_of(name));
		text_pool_renew(&texts);
		cr_assert(i < 100000);
	}
	cr_expect(texts->arena.used == 0);
	cr_expect(str_is(old->v[0].labels.v[0].name, "node"));
	target_groups_unref(old);
	text_pool_unref(texts);
}
