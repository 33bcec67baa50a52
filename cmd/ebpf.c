/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/ebpf.h"

struct ebpf_shares ebpf_shares(const struct collector_stats *s)
{
	int64_t whole = s->ends[SAMPLE_COMPLETE] + s->ends[SAMPLE_KERNEL];
	struct ebpf_shares out = { .samples = 0 };

	for (size_t i = 0; i < SAMPLE_ENDS; i++)
		out.samples += s->ends[i];
	if (out.samples) {
		out.whole = 100.0 * (double)whole / (double)out.samples;
		out.by_pointer = 100.0 * (double)s->ends[SAMPLE_BY_POINTER] /
				 (double)out.samples;
	}
	return out;
}

#ifdef WITH_BPF
int ebpf_start(const struct collector_options *o, struct collector **out,
	       struct err *err)
{
	static char program[] = "/proc/self/exe";
	static char command[] = EBPF_HELPER;
	static char *const argv[] = { program, command, NULL };
	struct collector_options with_helper = *o;

	with_helper.helper_argv = argv;
	return collector_start(&with_helper, out, err);
}

void ebpf_stop(struct collector *c, struct collector_stats *out)
{
	collector_stop(c, out);
}

void ebpf_stats(struct collector *c, struct collector_stats *out)
{
	collector_stats_of(c, out);
}

int ebpf_help(void)
{
	return collector_help();
}
#else
int ebpf_start(const struct collector_options *o UNUSED,
	       struct collector **out UNUSED, struct err *err)
{
	return err_set(err, ERR_UNSUPPORTED,
		       "this everprof was built without eBPF (-DWITH_BPF=OFF)");
}

void ebpf_stop(struct collector *c UNUSED, struct collector_stats *out UNUSED)
{
}

void ebpf_stats(struct collector *c UNUSED, struct collector_stats *out)
{
	*out = (struct collector_stats){ .processes = 0 };
}

int ebpf_help(void)
{
	return 2;
}
#endif
