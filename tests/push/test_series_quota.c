/* SPDX-License-Identifier: Apache-2.0 */
/* How many new series one sender may add within an hour. */
#include "push/receive/series_quota.h"

#include "base/hash.h"
#include "tests/check.h"

#define HOUR_NS 3600000000000LL
#define NOW     1000000000000LL

/* Sends series `first` to `first + n - 1`; returns how many are admitted. */
static size_t admit(struct series_quota *q, uint64_t sender, uint64_t first,
		    size_t n, int64_t now_ns)
{
	size_t admitted = 0;

	for (uint64_t i = 0; i < n; i++)
		admitted += series_quota_admit(q, hash_number(sender + 1),
					       hash_number(first + i + 1),
					       now_ns) != QUOTA_REFUSED;
	return admitted;
}

Test(series_quota, each_sender_may_add_so_many_series)
{
	struct series_quota *q = series_quota_new(100);

	cr_expect(admit(q, 1, 0, 150, NOW) == 100);
	cr_expect(admit(q, 1, 0, 100, NOW + 1) == 100, "they are known now");
	cr_expect(admit(q, 2, 0, 100, NOW + 1) == 100, "whoever sends them");
	cr_expect(admit(q, 2, 1000, 150, NOW + 2) == 100);
	cr_expect(admit(q, 1, 1000, 100, NOW + 3) == 100);
	cr_expect(admit(q, 1, 5000, 1, NOW + 3) == 0);
	series_quota_free(q);
}

Test(series_quota, each_hour_begins_with_the_series_of_the_last_one)
{
	struct series_quota *q = series_quota_new(100);

	cr_expect(admit(q, 1, 0, 100, NOW) == 100);
	cr_expect(admit(q, 1, 0, 200, NOW + HOUR_NS) == 200);
	cr_expect(admit(q, 1, 200, 1, NOW + HOUR_NS) == 0);
	/* After two hours without them, they are new again. */
	cr_expect(admit(q, 1, 0, 150, NOW + 4 * HOUR_NS) == 100);
	series_quota_free(q);
}

Test(series_quota, no_limit_remembers_nothing)
{
	struct series_quota *q = series_quota_new(0);

	cr_expect(admit(q, 1, 0, 100000, NOW) == 100000);
	series_quota_free(q);
}

/* An address for each series must neither take all memory nor lock others out. */
Test(series_quota, of_many_senders_the_smallest_is_forgotten)
{
	struct series_quota *q = series_quota_new(3);

	cr_expect(admit(q, 0, 0, 5, NOW) == 3);
	for (uint64_t i = 1; i < QUOTA_SENDERS_MAX + 100; i++)
		cr_expect(admit(q, i, 10 * i, 1, NOW) == 1);
	cr_expect(admit(q, 0, 5, 1, NOW) == 0, "it added the most");
	series_quota_free(q);
}

Test(series_quota, what_was_not_stored_does_not_count)
{
	struct series_quota *q = series_quota_new(1);
	uint64_t sender = hash_number(1);

	cr_expect(series_quota_admit(q, sender, hash_number(7), NOW) ==
		  QUOTA_NEW);
	cr_expect(series_quota_admit(q, sender, hash_number(7), NOW) ==
		  QUOTA_KNOWN);
	cr_expect(series_quota_admit(q, sender, hash_number(8), NOW) ==
		  QUOTA_REFUSED);
	series_quota_withdraw(q, sender, hash_number(7));
	cr_expect(series_quota_admit(q, sender, hash_number(8), NOW) ==
		  QUOTA_NEW);
	cr_expect(series_quota_admit(q, sender, hash_number(7), NOW) ==
		  QUOTA_REFUSED);
	series_quota_free(q);
}

Test(series_quota, the_oldest_series_are_forgotten)
{
	struct series_quota *q = series_quota_new(QUOTA_SERIES_MAX * 4ULL);

	cr_expect(admit(q, 1, 0, QUOTA_SERIES_MAX * 3, NOW) ==
		  QUOTA_SERIES_MAX * 3);
	/* The first third is new again, the others are not. */
	cr_expect(admit(q, 1, QUOTA_SERIES_MAX, QUOTA_SERIES_MAX * 2, NOW) ==
		  QUOTA_SERIES_MAX * 2);
	cr_expect(admit(q, 1, QUOTA_SERIES_MAX * 10, QUOTA_SERIES_MAX + 1,
			NOW) == QUOTA_SERIES_MAX);
	series_quota_free(q);
}
