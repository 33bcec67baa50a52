/* SPDX-License-Identifier: Apache-2.0 */
/*
 * everprof-bench ebpf: what the eBPF collector costs on this machine, beside a
 * program that burns CPU with a stack of a known depth.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/bench.h"
#include "cmd/cli/cmd.h"
#include "cmd/cli/process_memory.h"
#include "cmd/serve/ebpf.h"

#define MS_NS 1000000

/* The flags, and what was measured. */
struct ebpf_bench {
	int64_t hz;
	int64_t duration_ms;
	int64_t frames;
	pid_t burner;
	size_t bytes; /* of all profiles */
};

static volatile uint64_t bench_work;
static volatile bool bench_ends; /* never: the process is killed */

/* Burn CPU below `depth` calls of this function. */
__attribute__((noinline)) static void ebpf_bench_burn(int64_t depth)
{
	if (depth > 0)
		ebpf_bench_burn(depth - 1);
	else
		while (!bench_ends)
			bench_work++;
	bench_work++; /* so that the call is not the last thing */
}

static void ebpf_bench_start_burner(struct ebpf_bench *b)
{
	b->burner = fork();
	if (b->burner)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	ebpf_bench_burn(b->frames);
	_exit(0);
}

/* Sink of the collector: profiles are counted. */
static int ebpf_bench_take(void *ctx, struct labels *labels UNUSED,
			   int64_t ms UNUSED, struct bytes profile,
			   struct err *err UNUSED)
{
	struct ebpf_bench *b = ctx;

	b->bytes += profile.len;
	return 0;
}

/* Sleep for milliseconds. */
static void ebpf_bench_sleep(int64_t ms)
{
	const struct timespec t = { .tv_sec = ms / 1000,
				    .tv_nsec = ms % 1000 * MS_NS };

	nanosleep(&t, NULL);
}

static void ebpf_bench_report(const struct ebpf_bench *b,
			      const struct collector_stats *s, int64_t cpu_ns)
{
	struct ebpf_shares shares = ebpf_shares(s);

	printf("samples                      %" PRId64 "\n", shares.samples);
	printf("  with the whole stack       %.1f %%\n", shares.whole);
	printf("  by frame pointers          %.1f %%\n", shares.by_pointer);
	printf("  in the first 3 ms          %.1f %%\n", shares.starting);
	printf("  lost                       %" PRId64 "\n",
	       s->ring_full + s->memory_full);
	printf("time of the BPF program      %.2f us a sample\n",
	       s->runs ? (double)s->run_ns / 1e3 / (double)s->runs : 0);
	printf("CPU of everprof              %.3f %% of a core\n",
	       100.0 * (double)cpu_ns / ((double)b->duration_ms * MS_NS));
	printf("memory of everprof           %.1f MiB\n",
	       (double)memory_kb("RssAnon:") / 1024);
	printf("memory of the BPF maps       %.1f MiB\n",
	       (double)s->map_bytes / MIB);
	printf("processes, files             %" PRId64 ", %" PRId64 "\n",
	       s->processes, s->files);
	printf("entries of unwind tables     %" PRId64 "\n", s->table_entries);
	printf("profiles                     %" PRId64 ", %zu bytes\n",
	       s->profiles, b->bytes);
}

/* Collect beside the burner, and print the costs. */
static int ebpf_bench_run(struct ebpf_bench *b, struct err *err)
{
	struct collector_options o = { .hz = (unsigned)b->hz,
				       .sample_labels = SAMPLE_LABELS_DEFAULT,
				       .interval_ms = COLLECTOR_INTERVAL_MS,
				       .memory = COLLECTOR_MEMORY,
				       .node = "bench",
				       .measure = true,
				       .sink = ebpf_bench_take,
				       .ctx = b };
	struct collector_stats s = { 0 };
	struct collector *c;
	int64_t cpu_ns;
	int rc = ebpf_start(&o, &c, err);

	if (rc)
		return rc;
	while (!s.sampling && !s.failure.code) {
		ebpf_bench_sleep(20);
		ebpf_stats(c, &s);
	}
	if (s.failure.code) {
		*err = s.failure;
		ebpf_stop(c, NULL);
		return s.failure.code;
	}
	cpu_ns = clock_cpu_ns();
	ebpf_bench_sleep(b->duration_ms);
	cpu_ns = clock_cpu_ns() - cpu_ns;
	ebpf_stop(c, &s);
	ebpf_bench_report(b, &s, cpu_ns);
	return 0;
}

int bench_ebpf(int argc, char **argv)
{
	struct ebpf_bench b = { .hz = COLLECTOR_HZ,
				.duration_ms = 30000,
				.frames = 20 };
	const struct flag flags[] = {
		{ "frequency", FLAG_INT, &b.hz, "19",
		  "Samples a second on each CPU (also -F)." },
		{ "duration", FLAG_DURATION, &b.duration_ms, "30s",
		  "How long to measure (also -d)." },
		{ "frames", FLAG_INT, &b.frames, "20",
		  "Depth of the calls of the program that burns CPU." },
		{ 0 },
	};
	static const struct usage u = {
		"ebpf [FLAGS]",
		"Profile this machine, beside a program that burns CPU, and print what it costs: the\n"
		"time of the BPF program, CPU and memory. Needs the permissions of everprof record.",
		0, 0
	};
	struct err err;
	int code = cmd_begin(&u, flags, &argc, argv);
	int rc;

	if (code >= 0)
		return code;
	if (b.hz < 1 || b.hz > COLLECTOR_HZ_MAX || b.frames > 10000 ||
	    !b.duration_ms) {
		err_set(&err, ERR_INVALID,
			"--frequency must be between 1 and %d, --frames at most 10000, and --duration above 0",
			COLLECTOR_HZ_MAX);
		cmd_fail(&err);
		return 2;
	}
	ebpf_bench_start_burner(&b);
	rc = ebpf_bench_run(&b, &err);
	kill(b.burner, SIGKILL);
	waitpid(b.burner, NULL, 0);
	return rc ? cmd_fail(&err) : 0;
}
