/* SPDX-License-Identifier: Apache-2.0 */
/* The ranges of numbers that users have: which lines count, and for whom. */
#include "bpf/process/user_ranges.h"

#include <stdio.h>

#include "base/mem.h"
#include "tests/check.h"
#include "tests/tempdir.h"

Test(user_ranges, numbers_of_a_range_count_as_one_user)
{
	struct tempdir d = tempdir_make();
	CLEANUP(mem_freep) char *path = mem_printf("%s/subuid", d.path);
	struct user_ranges r;
	FILE *f = fopen(path, "w");

	cr_assert(f);
	fputs("alice:100000:65536\nbob:165536:65536\n\nbad\nbad:x:1\n"
	      "bad:-5:9\nroot:0:1000\nbad:4294967295:2\nbad:5:0\n"
	      "carol:4294967290:5",
	      f);
	cr_assert(!fclose(f));
	user_ranges_read(&r, path);
	cr_expect(r.list.count == 3);
	cr_expect(user_ranges_share(&r, 0) == 0);
	cr_expect(user_ranges_share(&r, 1000) == 1000);
	cr_expect(user_ranges_share(&r, 99999) == 99999);
	cr_expect(user_ranges_share(&r, 100000) == 100000);
	cr_expect(user_ranges_share(&r, 165535) == 100000);
	cr_expect(user_ranges_share(&r, 165536) == 165536);
	cr_expect(user_ranges_share(&r, 231072) == 231072);
	cr_expect(user_ranges_share(&r, 4294967294) == 4294967290);
	cr_expect(user_ranges_share(&r, UINT32_MAX) == UINT32_MAX);
	user_ranges_fini(&r);
	tempdir_fini(&d);
}

Test(user_ranges, without_a_file_each_number_is_a_user)
{
	struct user_ranges r;

	user_ranges_read(&r, "/nowhere/subuid");
	cr_expect(user_ranges_share(&r, 100001) == 100001);
	cr_expect(user_ranges_share(NULL, 100001) == 100001);
	user_ranges_fini(&r);
}
