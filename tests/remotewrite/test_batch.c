/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of cutting a list of waiting samples into batches. */
#include "remotewrite/wire/batch.h"

#include "tests/check.h"

TestSuite(batch, .timeout = 30);

/* Links samples of these sizes into a list; the array is the caller's. */
static struct queued_sample *list_of(struct queued_sample *v, const size_t *len,
				     size_t count)
{
	for (size_t i = 0; i < count; i++)
		v[i] = (struct queued_sample){
			.sample.raw_len = len[i],
			.next = i + 1 < count ? &v[i + 1] : NULL,
		};
	return count ? v : NULL;
}

Test(batch, both_limits_are_kept_and_one_sample_always_goes)
{
	static const struct {
		size_t len[4];
		size_t max_count;
		size_t max_bytes;
		size_t want; /* samples of the batch */
	} cases[] = {
		{ { 10, 10, 10, 10 }, 9, 99, 4 },
		{ { 10, 10, 10, 10 }, 3, 99, 3 },
		{ { 10, 10, 10, 10 }, 9, 30, 3 },
		{ { 10, 10, 10, 10 }, 9, 29, 2 },
		{ { 100, 10, 10, 10 }, 9, 30, 1 },
		{ { 10, 100, 10, 10 }, 9, 30, 1 },
		{ { 10, 10, UINT32_MAX - 5, 10 }, 9, UINT32_MAX, 2 },
		{ { 0, 0, 0, 0 }, 9, 0, 4 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct queued_sample v[4];
		struct queued_sample *list = list_of(v, cases[i].len, 4);
		struct batch b = batch_cut(&list, cases[i].max_count,
					   cases[i].max_bytes);
		size_t want = cases[i].want;

		cr_assert(b.count == want, "%zu: %zu", i, b.count);
		cr_assert(b.first == &v[0], "%zu: %zu", i, b.count);
		cr_expect(v[want - 1].next == NULL, "%zu", i);
		cr_expect(list == (want < 4 ? &v[want] : NULL), "%zu", i);
	}
}

Test(batch, an_empty_list_gives_an_empty_batch)
{
	struct queued_sample *list = NULL;
	struct batch b = batch_cut(&list, 9, 99);

	cr_assert(!b.count);
	cr_assert(!b.first);
	cr_expect(!list);
	cr_expect(batch_bytes(&b) == 0);
}

Test(batch, the_bytes_of_a_batch_are_those_of_its_samples)
{
	struct queued_sample v[3];
	struct queued_sample *list =
		list_of(v, (const size_t[]){ 1, 20, 300 }, 3);
	struct batch b = batch_cut(&list, 2, 999);

	cr_expect(batch_bytes(&b) == 21);
}
