/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/serve/ebpf_rights.h"

#include <linux/capability.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Number of symbols that are looked at: the first ones may have no address. */
#define EBPF_RIGHTS_SYMBOLS 1000

uint64_t ebpf_rights_read(void)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct has[2] = { 0 };

	if (syscall(SYS_capget, &header, has))
		return 0;
	return (uint64_t)has[1].effective << 32 | has[0].effective;
}

/*
 * Whether the kernel hides the addresses of its symbols: then they are all 0
 * (Linux, kernel/kallsyms.c).
 */
static bool ebpf_rights_hide_kernel(const char *kallsyms)
{
	FILE *f = fopen(kallsyms, "re");
	char line[1024];
	bool hidden = true;

	for (int i = 0; f && i < EBPF_RIGHTS_SYMBOLS && hidden; i++) {
		if (!fgets(line, sizeof(line), f))
			break;
		for (const char *c = line; *c && *c != ' '; c++)
			hidden &= *c == '0';
	}
	if (f)
		fclose(f);
	return hidden;
}

size_t ebpf_rights_missing(uint64_t capabilities, const char *kallsyms,
			   const char *out[EBPF_RIGHTS_MAX])
{
	const uint64_t others = 1ULL << CAP_SYS_PTRACE |
				1ULL << CAP_DAC_READ_SEARCH;
	size_t n = 0;

	if ((capabilities & others) != others)
		out[n++] =
			"programs of other users cannot be read, so their stacks lack callers and names: give everprof the capabilities CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH, or run it as root";
	if (kallsyms && ebpf_rights_hide_kernel(kallsyms))
		out[n++] =
			"the kernel hides its symbols (/proc/kallsyms), so its functions have no names: give everprof the capability CAP_SYSLOG, and set kernel.kptr_restrict to 0 or 1";
	return n;
}
