/* SPDX-License-Identifier: Apache-2.0 */
#include "scrape/target.h"
#include "tests/check.h"

TestSuite(target, .timeout = 10);

Test(target, due_times_are_stable_and_spread)
{
	int64_t slots[10] = { 0 };

	for (uint64_t hash = 0; hash < 1000; hash++) {
		uint64_t h = hash * 0x9e3779b97f4a7c15u;
		int64_t now = 1700000000123;
		int64_t due = target_next_due(h, 15000, now);

		cr_expect(due > now && due <= now + 15000);
		/* Whenever it is asked, the same moments come out. */
		cr_expect(target_next_due(h, 15000, due - 1) == due);
		cr_expect(target_next_due(h, 15000, due) == due + 15000);
		slots[due % 15000 / 1500]++;
	}
	for (int i = 0; i < 10; i++)
		cr_expect(slots[i] > 50 && slots[i] < 200);
}

Test(target, samples_close_to_their_moment_get_it)
{
	cr_expect(target_sample_ms(1000, 1001, 15000) == 1000);
	cr_expect(target_sample_ms(1000, 1002, 15000) == 1000);
	cr_expect(target_sample_ms(1000, 1003, 15000) == 1003);
	cr_expect(target_sample_ms(1000, 1001, 50) == 1001);
}

Test(target, urls_carry_prefix_params_and_seconds)
{
	struct param params[] = { { str_of("a b"), str_of("c&d") } };
	struct scrape_config c = { .job_name = str_of("app"),
				   .scheme = str_of("https"),
				   .interval_ms = 15000,
				   .timeout_ms = 5000,
				   .path_prefix = str_of("/x"),
				   .params = params,
				   .param_count = 1 };
	struct label labels[] = { { str_of("env"), str_of("dev") },
				  { str_of("__hidden"), str_of("1") } };
	struct static_group g = { .labels = labels, .label_count = 2 };
	struct profile_config p = { .name = str_of("profile"),
				    .path = str_of("/debug/pprof/profile"),
				    .seconds = 10 };
	struct target *t;
	struct buf text = { 0 };

	cr_assert(!target_new(&c, &g, &p, str_of("h:1"), &t, NULL));
	cr_expect(check_str(
		str_of(t->url),
		"https://h:1/x/debug/pprof/profile?a%20b=c%26d&seconds=10"));
	cr_expect(t->timeout_ms == 15000, "seconds + scrape_timeout");
	labels_text(t->labels, &text);
	cr_expect(
		check_str(str_from(buf_bytes(&text)),
			  "profile{env=\"dev\",instance=\"h:1\",job=\"app\"}"));
	buf_fini(&text);
	target_free(t);
}
