/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/serve/ebpf.h"

/* Return a percentage. */
static double ebpf_share(int64_t part, int64_t whole)
{
	return 100.0 * (double)part / (double)whole;
}

struct ebpf_shares ebpf_shares(const struct collector_stats *s)
{
	int64_t whole = s->ends[SAMPLE_COMPLETE] + s->ends[SAMPLE_KERNEL];
	struct ebpf_shares out = { .samples = 0 };

	for (size_t i = 0; i < SAMPLE_ENDS; i++)
		out.samples += s->ends[i];
	if (out.samples) {
		out.whole = ebpf_share(whole, out.samples);
		out.by_pointer =
			ebpf_share(s->ends[SAMPLE_BY_POINTER], out.samples);
		out.starting =
			ebpf_share(s->ends[SAMPLE_STARTING], out.samples);
	}
	return out;
}

#ifdef WITH_BPF
#include "bpf/process/container_names.h"
#include "discovery/container_targets.h"

int ebpf_start(const struct collector_options *o, struct collector **out,
	       struct err *err)
{
	static char program[] = "/proc/self/exe";
	static char command[] = EBPF_HELPER;
	static char process_command[] = EBPF_PROCESS_HELPER;
	static char *const argv[] = { program, command, NULL };
	static char *const process_argv[] = { program, process_command, NULL };
	struct collector_options with_helper = *o;

	with_helper.helper_argv = argv;
	with_helper.process_argv = process_argv;
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

int ebpf_help_processes(void)
{
	return collector_help_processes();
}

struct container_names *ebpf_containers_new(void)
{
	return container_names_new();
}

void ebpf_containers_free(struct container_names *n)
{
	container_names_free(n);
}

/* Containers that are being added to a set. */
struct added_containers {
	struct container_set *set;
	struct err *err;
	int rc; /* why the set is incomplete */
};

/* Add a container to a set. A container_fn. */
static bool ebpf_add_container(void *ctx, struct str id,
			       const struct label *labels, size_t count)
{
	struct added_containers *a = ctx;

	a->rc = container_set_add(a->set, id, labels, count, a->err);
	return !a->rc;
}

int ebpf_containers_set(struct container_names *n,
			const struct target_groups_list *groups, size_t *count,
			struct err *err)
{
	struct added_containers a = { .set = container_set_new(), .err = err };

	container_targets_visit(groups, ebpf_add_container, &a);
	*count = container_set_count(a.set);
	container_names_set(n, a.set);
	return a.rc;
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

int ebpf_help_processes(void)
{
	return 2;
}

struct container_names *ebpf_containers_new(void)
{
	return NULL;
}

void ebpf_containers_free(struct container_names *n UNUSED)
{
}

int ebpf_containers_set(struct container_names *n UNUSED,
			const struct target_groups_list *groups UNUSED,
			size_t *count UNUSED, struct err *err UNUSED)
{
	return 0;
}
#endif
