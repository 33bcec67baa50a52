/* SPDX-License-Identifier: Apache-2.0 */
/* Target groups that are built label by label. */
#include "base/mem.h"
#include "discovery/core/group_builder.h"
#include "tests/check.h"

TestSuite(group_builder, .timeout = 60);

static void print_labels(struct buf *out, const struct label_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		buf_printf(out, "%.*s=%.*s ", STR_ARG(l->v[i].name),
			   STR_ARG(l->v[i].value));
}

/* Takes the groups, and compares them as text. */
static bool builds(struct group_builder *b, const char *want, size_t targets)
{
	struct target_groups *g = NULL;
	struct buf text = { 0 };
	bool ok;

	cr_assert(!group_builder_take(b, &g, NULL));
	for (size_t i = 0; i < g->count; i++) {
		buf_str(&text, "{ ");
		print_labels(&text, &g->v[i].labels);
		for (size_t k = 0; k < g->v[i].target_count; k++) {
			buf_str(&text, "( ");
			print_labels(&text, &g->v[i].targets[k]);
			buf_str(&text, ") ");
		}
		buf_str(&text, "}");
	}
	cr_expect(g->targets == targets, "%zu", g->targets);
	ok = check_str(str_from(buf_bytes(&text)), want);
	target_groups_unref(g);
	buf_fini(&text);
	return ok;
}

Test(group_builder, labels_belong_to_groups_and_targets)
{
	struct group_builder b;

	group_builder_init(&b);
	cr_expect(builds(&b, "", 0));
	group_begin(&b);
	cr_expect(builds(&b, "{ }", 0));
	group_begin(&b);
	group_label(&b, "g", str_of("1"));
	group_target(&b);
	group_label(&b, "a", str_of("x"));
	group_label_int(&b, "n", -7);
	group_target(&b);
	group_target(&b);
	group_label(&b, "a", str_of("y"));
	group_begin(&b);
	group_label(&b, "g", str_of("2"));
	cr_expect(builds(&b, "{ g=1 ( a=x n=-7 ) ( ) ( a=y ) }{ g=2 }", 3));
	group_builder_fini(&b);
}

Test(group_builder, addresses_have_brackets_around_ipv6)
{
	struct group_builder b;

	group_builder_init(&b);
	group_begin(&b);
	group_target(&b);
	group_address(&b, str_of("h"), 80);
	group_target(&b);
	group_address(&b, str_of("2001:db8::1"), 0);
	group_target(&b);
	group_address(&b, str_of("192.0.2.1"), -1);
	cr_expect(builds(&b,
			 "{ ( __address__=h:80 ) ( __address__=[2001:db8::1]:0 "
			 ") ( __address__=192.0.2.1 ) }",
			 3));
	group_builder_fini(&b);
}

Test(group_builder, names_are_made_valid)
{
	struct group_builder b;

	group_builder_init(&b);
	group_begin(&b);
	group_label_of(&b, "p_", str_of("a.b/c-d"), str_of("1"));
	group_label_of(&b, "p_", str_of("n\xc3\xa4h_9"), str_of("2"));
	group_label_of(&b, "p_", str_of(""), str_of("3"));
	cr_expect(builds(&b, "{ p_a_b_c_d=1 p_n_h_9=2 p_=3 }", 0));
	group_builder_fini(&b);
}

Test(group_builder, labels_that_cannot_be_kept_are_left_out)
{
	struct str big = { mem_alloc(LABEL_VALUE_MAX + 1),
			   LABEL_VALUE_MAX + 1 };
	struct group_builder b;

	memset((char *)(uintptr_t)big.ptr, 'x', big.len);
	group_builder_init(&b);
	group_begin(&b);
	group_label(&b, "empty", str_of(""));
	group_label(&b, "big", big);
	group_label(&b, "text", str_of("\xff"));
	group_label_of(&b, "name_", (struct str){ big.ptr, LABEL_NAME_MAX },
		       str_of("x"));
	group_label(&b, "kept", str_of("yes"));
	cr_expect(builds(&b, "{ kept=yes }", 0));
	group_builder_fini(&b);
	mem_free((char *)(uintptr_t)big.ptr);
}

/* A label of a group counts for each of its targets. */
Test(group_builder, targets_have_a_limit)
{
	char value[60001];
	struct target_groups *g = NULL;
	struct group_builder b;
	struct err err;

	memset(value, 'x', sizeof(value) - 1);
	value[sizeof(value) - 1] = 0;
	group_builder_init(&b);
	group_begin(&b);
	group_label(&b, "g", str_of(value));
	for (int i = 0; i < 5000; i++)
		group_target(&b);
	cr_assert(group_builder_take(&b, &g, &err) == ERR_TOOBIG);
	cr_expect(!g);
	group_builder_fini(&b);
	/* What is above the limit is not stored. */
	group_builder_init(&b);
	group_begin(&b);
	for (int i = 0; i < 50000; i++) {
		group_target(&b);
		group_label(&b, "a", str_of(value));
	}
	cr_expect(b.groups->arena.used < 300 * MIB, "%zu",
		  b.groups->arena.used);
	cr_assert(group_is_over(&b), "%zu", b.targets.count);
	cr_expect(b.targets.count < 6000, "%zu", b.targets.count);
	cr_assert(group_builder_take(&b, &g, &err) == ERR_TOOBIG);
	cr_expect(!g);
	group_builder_fini(&b);
}
