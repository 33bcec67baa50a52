/* SPDX-License-Identifier: Apache-2.0 */
/* A set of texts: what it counts, and that it can be freed and used again. */
#include "query/select/string_set.h"

#include "tests/check.h"

Test(string_set, a_text_is_added_once_and_counted)
{
	struct string_set t = { .count = 0 };

	cr_expect(string_set_add(&t, str_of("b")));
	cr_expect(string_set_add(&t, str_of("a")));
	cr_expect(!string_set_add(&t, str_of("b")));
	cr_expect(t.count == 2);
	string_set_sort(&t);
	cr_expect(str_is(t.v[0].text, "a"));
	cr_expect(t.v[1].added == 2);
	string_set_sort_by_count(&t);
	cr_expect(str_is(t.v[0].text, "b"));
	string_set_fini(&t);
}

Test(string_set, a_freed_set_is_an_empty_set)
{
	struct string_set t = { .count = 0 };

	for (int round = 0; round < 3; round++) {
		cr_expect(string_set_add(&t, str_of("a")));
		cr_expect(t.count == 1);
		string_set_fini(&t);
		cr_expect(t.count == 0);
	}
	string_set_fini(&t);
}
