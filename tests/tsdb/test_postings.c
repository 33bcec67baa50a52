/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of series: intersection and difference, and the label index of a head
 * that gives them.
 */
#include "tsdb/index/postings.h"

#include "base/buf.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/tsdb/sample.h"
#include "tsdb/index/memindex.h"

TestSuite(postings, .timeout = 60);

/* A set of the letters of a text, in the order in which they come. */
static struct postings set_of(const char *letters)
{
	struct postings p = { 0 };

	for (; *letters; letters++)
		postings_add(&p, (uint32_t)(uint8_t)*letters);
	return p;
}

/* Whether the set is these letters, in this order. Frees it. */
static bool is_set(struct postings p, const char *letters)
{
	bool same = p.count == strlen(letters);

	for (size_t i = 0; i < p.count && same; i++)
		same = p.v[i] == (uint8_t)letters[i];
	postings_fini(&p);
	return same;
}

static const struct {
	const char *a;
	const char *b;
	const char *both;
	const char *only_a;
} sets[] = {
	{ "", "", "", "" },
	{ "", "abc", "", "" },
	{ "abc", "", "", "abc" },
	{ "abc", "abc", "abc", "" },
	{ "abc", "def", "", "abc" },
	{ "def", "abc", "", "def" },
	{ "abc", "b", "b", "ac" },
	{ "b", "abc", "b", "" },
	{ "acegi", "bdfhj", "", "acegi" },
	{ "abcdefgh", "ah", "ah", "bcdefg" },
	{ "ah", "abcdefgh", "ah", "" },
	{ "ax", "abcdx", "ax", "" },
	{ "abcz", "zz", "z", "abc" }, /* duplicates are sorted away */
};

Test(postings, sets_are_intersected_and_subtracted)
{
	for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
		struct postings both = set_of(sets[i].a);
		struct postings only = set_of(sets[i].a);
		struct postings b = set_of(sets[i].b);

		postings_sort(&b);
		postings_intersect(&both, &b);
		postings_subtract(&only, &b);
		cr_expect(is_set(both, sets[i].both), "%s, %s", sets[i].a,
			  sets[i].b);
		cr_expect(is_set(only, sets[i].only_a), "%s, %s", sets[i].a,
			  sets[i].b);
		postings_fini(&b);
	}
}

Test(postings, a_set_is_sorted_and_has_each_number_once)
{
	static const char *const cases[][2] = {
		{ "", "" },        { "a", "a" },     { "aa", "a" },
		{ "ba", "ab" },    { "abc", "abc" }, { "cabcab", "abc" },
		{ "zzzzy", "yz" },
	};
	struct postings p = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		p = set_of(cases[i][0]);
		postings_sort(&p);
		cr_expect(is_set(p, cases[i][1]), "%s", cases[i][0]);
	}
	p = (struct postings){ 0 };
	postings_add(&p, UINT32_MAX);
	postings_add(&p, 0);
	postings_add(&p, 1u << 31);
	postings_add_all(&p, (uint32_t[]){ 7, UINT32_MAX }, 2);
	postings_add_all(&p, NULL, 0);
	postings_sort(&p);
	cr_assert(p.count == 4);
	cr_assert(p.v[0] == 0, "as unsigned numbers");
	cr_assert(p.v[1] == 7, "as unsigned numbers");
	cr_assert(p.v[2] == 1u << 31, "as unsigned numbers");
	cr_expect(p.v[3] == UINT32_MAX, "as unsigned numbers");
	postings_fini(&p);
	cr_assert(!p.v);
	cr_assert(!p.count);
	cr_expect(!p.cap);
	postings_fini(&p);
}

Test(postings, a_head_lists_the_series_of_a_value)
{
	struct memindex m = { 0 };
	struct labels *ls[40];
	const struct mem_name *name;

	cr_expect(!memindex_name(&m, str_of("pod")));
	for (int i = 0; i < 40; i++) {
		ls[i] = sample_labels(i);
		memindex_add(&m, ls[i]);
		cr_expect(m.series == (uint32_t)i + 1);
	}
	name = memindex_name(&m, str_of("pod"));
	cr_assert(name);
	cr_assert(name->count == 40);
	cr_assert(name->values[17].count == 1);
	cr_expect(*mem_value_series(&name->values[17]) == 17);
	name = memindex_name(&m, str_of("job"));
	cr_assert(name);
	cr_assert(name->count == 1);
	cr_assert(name->values[0].count == 40);
	for (uint32_t i = 0; i < 40; i++)
		cr_expect(mem_value_series(&name->values[0])[i] == i);
	name = memindex_name(&m, str_of("__name__"));
	cr_assert(name);
	cr_assert(name->count == 2);
	cr_assert(name->values[1].count == 20);
	cr_assert(str_is(name->values[1].text, "heap"));
	cr_expect(mem_value_series(&name->values[1])[19] == 39);
	cr_assert(!memindex_name(&m, str_of("po")));
	cr_expect(!memindex_name(&m, str_of("")));
	memindex_fini(&m);
	cr_assert(!m.series);
	cr_assert(!m.count);
	cr_expect(!memindex_name(&m, str_of("pod")));
	for (int i = 0; i < 40; i++)
		labels_unref(ls[i]);
}
