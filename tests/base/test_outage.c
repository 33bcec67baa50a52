/* SPDX-License-Identifier: Apache-2.0 */
/* What failed reads mean, by how long they have failed. */
#include "base/outage.h"

#include "tests/check.h"

#define LONG_AGO_NS 1 /* the monotonic clock began before the test */

Test(outage, only_failed_reads_are_put_off)
{
	struct outage o = { 0 };
	struct err err = { .code = ERR_CORRUPT };

	cr_expect(!outage_note(&o, 0, 0, &err));
	cr_expect(outage_note(&o, ERR_CORRUPT, 0, &err) == ERR_CORRUPT);
	cr_expect(outage_note(&o, ERR_NOSPACE, 0, &err) == ERR_NOSPACE);
	cr_assert(!o.since_ns);
	cr_expect(err.code == ERR_CORRUPT);
}

Test(outage, a_failed_read_is_tried_again_until_the_limit)
{
	struct outage o = { 0 };
	struct err err = { .code = ERR_IO };

	cr_expect(outage_note(&o, ERR_IO, 0, &err) == ERR_AGAIN);
	cr_assert(err.code == ERR_AGAIN);
	cr_expect(o.since_ns);
	cr_expect(outage_note(&o, ERR_IO, 0, NULL) == ERR_AGAIN);
	o.since_ns = LONG_AGO_NS;
	cr_expect(outage_note(&o, ERR_IO, 1, NULL) == ERR_IO);
	outage_end(&o);
	cr_expect(outage_note(&o, ERR_IO, 0, NULL) == ERR_AGAIN,
		  "the next outage begins anew");
}

Test(outage, a_negative_limit_puts_nothing_off)
{
	struct outage o = { 0 };

	cr_expect(outage_note(&o, ERR_IO, -1, NULL) == ERR_IO);
}
