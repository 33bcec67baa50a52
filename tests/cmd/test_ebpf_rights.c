/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rights of the eBPF collector are reported as missing.
 */
#include <linux/capability.h>

#include "cmd/cli/output.h"
#include "cmd/serve/ebpf_rights.h"
#include "tests/check.h"
#include "tests/tempdir.h"

TestSuite(ebpf_rights, .timeout = 20);

#define BIT(capability) (1ULL << (capability))
#define READERS         (BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH))

Test(ebpf_rights, missing_capabilities_and_hidden_symbols_are_named)
{
	static const struct {
		uint64_t capabilities;
		const char *kallsyms; /* NULL: there is none */
		const char *parts[3]; /* of the sentences; NULL ends them */
	} cases[] = {
		{ READERS, "ffffffff81000000 T _text\n", { NULL } },
		{ UINT64_MAX,
		  "0000000000000000 A first\n00000001 T a\n",
		  { 0 } },
		{ READERS,
		  "0000000000000000 T _text\n0000000000000000 t a [m]\n",
		  { "kptr_restrict" } },
		{ READERS, NULL, { "CAP_SYSLOG" } },
		{ READERS, "", { "/proc/kallsyms" } },
		{ BIT(CAP_SYS_PTRACE), "f T a\n", { "CAP_DAC_READ_SEARCH" } },
		{ BIT(CAP_DAC_READ_SEARCH), "f T a\n", { "CAP_SYS_PTRACE" } },
		{ BIT(CAP_BPF) | BIT(CAP_PERFMON),
		  "0 T a\n",
		  { "CAP_SYS_PTRACE", "kptr_restrict" } },
	};
	struct tempdir d = tempdir_make();
	char path[300];

	snprintf(path, sizeof(path), "%s/kallsyms", d.path);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *texts[EBPF_RIGHTS_MAX] = { NULL };
		size_t want = 0;
		size_t n;

		if (cases[i].kallsyms)
			cr_assert(!output_save(
				path, false,
				bytes_of(str_of(cases[i].kallsyms)), NULL));
		n = ebpf_rights_missing(cases[i].capabilities,
					cases[i].kallsyms ? path : "/none",
					texts);
		for (; cases[i].parts[want]; want++) {
			cr_assert(want < n, "case %zu", i);
			cr_expect(strstr(texts[want], cases[i].parts[want]),
				  "case %zu", i);
		}
		cr_expect(n == want, "case %zu: %zu", i, n);
	}
	tempdir_fini(&d);
}
