/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the decision which kernels are sampled, and of what the kernel says
 * about itself and its CPUs.
 */
#include "bpf/kernel/cpu_list.h"
#include "bpf/kernel/kernel_gate.h"
#include "tests/check.h"

TestSuite(kernel_gate, .timeout = 30);
TestSuite(cpu_list, .timeout = 30);

Test(kernel_gate, version_is_found_where_distributions_write_it)
{
	static const struct {
		const char *release;
		const char *version;
		const char *signature;
		struct kernel_version want; /* 0.0.0: none is found */
	} table[] = {
		{ "6.18.44", "#1 SMP", "", { 6, 18, 44 } },
		{ "6.1.0-35-amd64",
		  "#1 SMP PREEMPT_DYNAMIC Debian 6.1.137-1 (2025-05-07)",
		  "",
		  { 6, 1, 137 } },
		{ "5.15.0-91-generic",
		  "#101-Ubuntu SMP",
		  "Ubuntu 5.15.0-91.101-generic 5.15.131\n",
		  { 5, 15, 131 } },
		{ "5.14.0-503.el9.x86_64", "#1 SMP", "", { 5, 14, 0 } },
		{ "6.6.87.2-microsoft-standard-WSL2", "#1", "", { 6, 6, 87 } },
		{ "6.12-rc1", "#1", "", { 6, 12, 0 } },
		{ "6.1.0", "#1 Debian without", "", { 6, 1, 0 } },
		{ "strange", "", "", { 0, 0, 0 } },
		{ "", "", "", { 0, 0, 0 } },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		const struct kernel_texts texts = {
			.release = str_of(table[i].release),
			.version = str_of(table[i].version),
			.signature = str_of(table[i].signature),
		};
		struct kernel_version v = { 0 };
		bool found = kernel_version_find(&texts, &v);

		cr_expect(found == (table[i].want.major != 0), "%s",
			  table[i].release);
		cr_expect(!found || !memcmp(&v, &table[i].want, sizeof(v)),
			  "%s: %u.%u.%u", table[i].release, v.major, v.minor,
			  v.patch);
	}
}

Test(kernel_gate, old_kernels_and_those_that_freeze_are_refused)
{
	static const struct {
		struct kernel_version version;
		bool good;
	} table[] = {
		{ { 4, 19, 300 }, false }, { { 5, 9, 16 }, false },
		{ { 5, 10, 0 }, true },    { { 5, 18, 99 }, true },
		{ { 5, 19, 0 }, false },   { { 6, 0, 19 }, false },
		{ { 6, 1, 35 }, false },   { { 6, 1, 36 }, true },
		{ { 6, 2, 0 }, false },    { { 6, 2, 16 }, false },
		{ { 6, 3, 9 }, false },    { { 6, 3, 10 }, true },
		{ { 6, 4, 0 }, true },     { { 7, 0, 0 }, true },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct err err;
		int rc = kernel_gate_check(table[i].version, &err);

		cr_expect(rc == (table[i].good ? 0 : ERR_UNSUPPORTED),
			  "%u.%u.%u", table[i].version.major,
			  table[i].version.minor, table[i].version.patch);
	}
}

Test(cpu_list, lists_have_numbers_and_ranges)
{
	struct cpu_list l;

	cr_expect(cpu_list_parse(str_of("0-2,7,63-64\n"), &l));
	for (unsigned i = 0; i < 100; i++)
		cr_expect(cpu_list_has(&l, i) ==
			  (i <= 2 || i == 7 || i == 63 || i == 64));
	cr_expect(!cpu_list_has(&l, CPU_LIST_MAX));
	cr_assert(cpu_list_parse(str_of("8191"), &l));
	cr_expect(cpu_list_has(&l, 8191));
	cr_assert(cpu_list_parse(str_of(""), &l));
	cr_expect(!cpu_list_has(&l, 0));
	cr_expect(!cpu_list_parse(str_of("8192"), &l));
	cr_expect(!cpu_list_parse(str_of("3-1"), &l));
	cr_expect(!cpu_list_parse(str_of("0-"), &l));
	cr_expect(!cpu_list_parse(str_of("-1"), &l));
	cr_expect(!cpu_list_parse(str_of("0;1"), &l));
	cr_expect(!cpu_list_parse(str_of("0,,1"), &l));
}
