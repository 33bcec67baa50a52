/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The benchmarks, one for each command of everprof-bench. They get the arguments
 * after their name, and return the exit code.
 *
 * Ownership: arguments are borrowed from argv.
 * Threads: a benchmark runs in one thread, and may start others.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

/* Measure the columns codec over a folder of profiles. */
int bench_columns(int argc, char **argv);

/* Measure merging profiles. */
int bench_merge(int argc, char **argv);

/* Measure what the eBPF collector costs on this machine. */
int bench_ebpf(int argc, char **argv);

/* Measure the cost of many series. */
int bench_series(int argc, char **argv);

/* Measure storage over a folder of profiles. */
int bench_storage(int argc, char **argv);

#endif
