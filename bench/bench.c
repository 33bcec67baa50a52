/* SPDX-License-Identifier: Apache-2.0 */
/* Entry point of everprof-bench: benchmarks of storage, merging and eBPF. */
#include "bench/bench.h"

#include "base/bytes.h"
#include "cmd/program.h"

static const struct command benches[] = {
	{ NULL, "storage", bench_storage,
	  "benchmark storage with a folder of profiles" },
	{ NULL, "columns", bench_columns, "benchmark the columns codec" },
	{ NULL, "merge", bench_merge, "benchmark merging of profiles" },
	{ NULL, "ebpf", bench_ebpf,
	  "measure what profiling this machine costs" },
	{ NULL, "series", bench_series, "benchmark many series" },
};

int main(int argc, char **argv)
{
	static const struct program bench = {
		.name = "everprof-bench",
		.about =
			"everprof-bench measures everprof (docs/benchmarks.md).\n",
		.hint = "",
		.commands = benches,
		.count = ARRAY_SIZE(benches),
	};

	return program_run(&bench, argc, argv);
}
