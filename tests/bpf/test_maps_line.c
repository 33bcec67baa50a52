/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of /proc/PID/maps, good and malformed.
 */
#include "bpf/process/maps_line.h"
#include "tests/check.h"

TestSuite(maps_line, .timeout = 30);

Test(maps_line, all_fields)
{
	struct maps_line l;

	cr_assert(maps_line_parse(
		str_of("7f3525f52000-7f35260a8000 r-xp 00026000 fe:01 1234567    /usr/lib/a b.so.6"),
		&l));
	cr_assert(l.start == 0x7f3525f52000);
	cr_expect(l.end == 0x7f35260a8000);
	cr_assert(l.executable);
	cr_assert(l.offset == 0x26000);
	cr_expect(l.inode == 1234567);
	cr_assert(l.major == 0xfe);
	cr_expect(l.minor == 1);
	cr_expect(check_str(l.path, "/usr/lib/a b.so.6"));
	cr_assert(maps_line_parse(
		str_of("00400000-00401000 rw-p 00000000 00:00 0 "), &l));
	cr_assert(!l.executable);
	cr_assert(!l.inode);
	cr_expect(!l.path.len);
	cr_assert(maps_line_parse(
		str_of("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]"),
		&l));
	cr_assert(l.start == 0xffffffffff600000);
	cr_expect(l.executable);
	cr_expect(check_str(l.path, "[vsyscall]"));
	cr_assert(maps_line_parse(
		str_of("10-20 r-xp 0 00:01 7 /tmp/x (deleted)"), &l));
	cr_expect(check_str(l.path, "/tmp/x (deleted)"));
}

Test(maps_line, malformed_lines_are_refused)
{
	static const char *const table[] = {
		"",
		"00400000",
		"00400000-",
		"00400000-00401000",
		"00401000-00400000 r-xp 00000000 00:00 0",
		"00400000-00400000 r-xp 00000000 00:00 0",
		"00400000-00401000 r-x 00000000 00:00 0",
		"00400000-00401000 r-xp 0000000g 00:00 0",
		"00400000-00401000 r-xp 00000000 0000 0",
		"00400000-00401000 r-xp 00000000 00:00 -1",
		"00400000-00401000 r-xp 00000000 00:00 x",
		"00400000-11111111111111111 r-xp 00000000 00:00 0",
		"00400000-00401000 r-xp 00000000 100000000:00 0",
	};
	struct maps_line l;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		cr_expect(!maps_line_parse(str_of(table[i]), &l), "%s",
			  table[i]);
}
