/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The meter by which long loops ask for permission: how often they ask, and for
 * how much.
 */
#include "base/limits.h"
#include "tests/check.h"

TestSuite(limits, .timeout = 30);

/*
 * The arguments of the last call of the callback, and the answer that it gives.
 */
struct asked {
	size_t times;
	size_t bytes; /* of the last question */
	size_t sum;
	int answer;
};

static int note(void *ctx, size_t bytes, struct err *err)
{
	struct asked *a = ctx;

	a->times++;
	a->bytes = bytes;
	a->sum += bytes;
	return a->answer ? err_set(err, a->answer, "refused") : 0;
}

Test(limits, the_zero_value_permits_everything)
{
	struct limits e = { 0 };
	struct growth_meter m = { 0 };

	cr_expect(!limits_spend(&e, SIZE_MAX, NULL));
	cr_expect(!limits_meter(&e, &m, SIZE_MAX, SIZE_MAX, NULL));
}

Test(limits, work_is_asked_about_by_steps)
{
	struct asked a = { 0 };
	struct limits e = { note, &a };
	struct growth_meter m = { 0 };

	cr_expect(!limits_meter(&e, &m, LIMITS_WORK - 1, 0, NULL));
	cr_expect(a.times == 0);
	cr_expect(!limits_meter(&e, &m, 1, 0, NULL));
	cr_assert(a.times == 1, "exactly a step");
	cr_expect(a.bytes == 0, "exactly a step");
	/* The next step of work is counted from 0. */
	cr_expect(!limits_meter(&e, &m, LIMITS_WORK - 1, 0, NULL));
	cr_expect(a.times == 1);
	cr_expect(!limits_meter(&e, &m, 10 * LIMITS_WORK, 0, NULL));
	cr_expect(a.times == 2, "one question, however much it was");
}

Test(limits, memory_is_asked_for_once)
{
	struct asked a = { 0 };
	struct limits e = { note, &a };
	struct growth_meter m = { .spent = 1000 };
	size_t memory = 1000 + LIMITS_STEP - 1;

	cr_assert(!limits_meter(&e, &m, 1, memory, NULL));
	cr_expect(a.times == 0);
	memory++;
	cr_assert(!limits_meter(&e, &m, 1, memory, NULL));
	cr_expect(a.times == 1);
	cr_expect(a.bytes == LIMITS_STEP);
	/* Nothing is asked if memory stays the same or becomes less. */
	cr_assert(!limits_meter(&e, &m, 1, memory, NULL));
	cr_expect(a.times == 1);
	cr_assert(!limits_meter(&e, &m, 1, 0, NULL));
	cr_expect(a.times == 1);
	memory += 3 * LIMITS_STEP + 5;
	cr_assert(!limits_meter(&e, &m, 1, memory, NULL));
	cr_expect(a.times == 2);
	cr_expect(a.sum == memory - 1000);
	/*
	 * A question about work also asks for the memory taken since the last
	 * one.
	 */
	cr_expect(!limits_meter(&e, &m, LIMITS_WORK, memory + 7, NULL));
	cr_assert(a.times == 3);
	cr_expect(a.bytes == 7);
	/* Memory that was freed and is taken again has been granted already. */
	cr_expect(!limits_meter(&e, &m, LIMITS_WORK, 0, NULL));
	cr_assert(a.times == 4);
	cr_expect(a.bytes == 0);
	cr_assert(!limits_meter(&e, &m, 1, memory, NULL));
	cr_expect(a.times == 4);
}

Test(limits, a_refusal_is_passed_on)
{
	struct asked a = { .answer = ERR_TIMEOUT };
	struct limits e = { note, &a };
	struct growth_meter m = { 0 };
	struct err err;

	cr_expect(!limits_meter(&e, &m, 1, 1, &err), "it is not asked yet");
	cr_expect(limits_meter(&e, &m, LIMITS_WORK, 1, &err) == ERR_TIMEOUT);
	cr_expect(strstr(err.msg, "refused") != NULL);
	cr_assert(limits_spend(&e, 0, &err) == ERR_TIMEOUT);
	cr_expect(a.times == 2);
}
