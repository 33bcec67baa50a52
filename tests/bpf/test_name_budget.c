/* SPDX-License-Identifier: Apache-2.0 */
/* How much time names may take: of a window, of a user, and of a slow file. */
#include "bpf/collect/name_budget.h"

#include "tests/check.h"

#define MS     1000000LL
#define SECOND (1000 * MS)

Test(name_budget, a_window_has_a_bound)
{
	struct name_budget b = { .window_ms = 10000 };

	name_budget_begin(&b, SECOND);
	cr_expect(name_budget_end(&b, 1, 0, SECOND) == 11 * SECOND);
	cr_expect(name_budget_end(&b, 1, 0, 12 * SECOND) == 11 * SECOND);
	b.window_ms = 0;
	name_budget_begin(&b, SECOND);
	cr_expect(!name_budget_end(&b, 1, 0, SECOND), "a recording has none");
}

Test(name_budget, a_user_leaves_half_of_the_time_to_others)
{
	struct name_budget b = { .window_ms = 10000 };

	name_budget_begin(&b, 0);
	cr_expect(name_budget_end(&b, 1, 1000, 0) == 5 * SECOND);
	name_budget_spend(&b, 1, 1000, 0, 3 * SECOND, false);
	cr_expect(name_budget_end(&b, 2, 1000, 3 * SECOND) == 5 * SECOND);
	name_budget_spend(&b, 2, 1000, 3 * SECOND, 5 * SECOND, false);
	cr_expect(name_budget_end(&b, 3, 1000, 5 * SECOND) == 5 * SECOND,
		  "nothing is left");
	cr_expect(name_budget_end(&b, 3, 1001, 5 * SECOND) == 10 * SECOND);
	name_budget_begin(&b, 10 * SECOND);
	cr_expect(name_budget_end(&b, 3, 1000, 10 * SECOND) == 15 * SECOND);
}

/* Another number each time is no way to more time than that of one user. */
Test(name_budget, users_beyond_the_table_share_a_bound)
{
	struct name_budget b = { .window_ms = 10000 };

	name_budget_begin(&b, 0);
	for (uint32_t i = 0; i < NAME_BUDGET_USERS + 5; i++)
		name_budget_spend(&b, 1, 1000 + i, 0, SECOND, false);
	cr_expect(name_budget_end(&b, 2, 1000, 0) == 4 * SECOND);
	cr_expect(name_budget_end(&b, 2, 3000, 0) <= 0, "nothing is left");
	cr_expect(name_budget_end(&b, 2, 0, 0) == 10 * SECOND, "root is apart");
}

Test(name_budget, a_slow_file_is_left_alone_each_time_for_longer)
{
	struct name_budget b = { .window_ms = 10000 };
	int64_t now = 0;
	int64_t pauses[3];

	for (int i = 0; i < 3; i++) {
		int64_t began = now;

		name_budget_begin(&b, now);
		now += 5 * SECOND;
		name_budget_spend(&b, 7, 1000, began, now, true);
		pauses[i] = 0;
		while (name_budget_end(&b, 7, 0, now + pauses[i]) ==
		       now + pauses[i])
			pauses[i] += SECOND;
		name_budget_begin(&b, now);
		cr_expect(name_budget_end(&b, 8, 1000, now) > now,
			  "another file");
		now += pauses[i];
	}
	cr_assert(pauses[0] == 30 * SECOND);
	cr_assert(pauses[1] == 60 * SECOND);
	cr_expect(pauses[2] == 120 * SECOND);
}

Test(name_budget, a_file_that_had_little_time_is_not_to_blame)
{
	struct name_budget b = { .window_ms = 10000 };

	name_budget_begin(&b, 0);
	name_budget_spend(&b, 7, 0, 9 * SECOND, 10 * SECOND, true);
	name_budget_begin(&b, 10 * SECOND);
	cr_expect(name_budget_end(&b, 7, 0, 10 * SECOND) == 20 * SECOND);
}

Test(name_budget, many_users_and_files_are_bounded)
{
	struct name_budget b = { .window_ms = 10000 };

	name_budget_begin(&b, 0);
	for (uint32_t i = 0; i < 1000; i++)
		name_budget_spend(&b, i, 1000 + i, 0, 3 * SECOND, true);
	cr_expect(b.user_count == NAME_BUDGET_USERS);
	cr_expect(name_budget_end(&b, 999, 0, SECOND) == SECOND,
		  "the newest is remembered");
}
