/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands of everprof. Each gets what is behind its name, and returns
 * the exit code: 0, 1 for a failure that it has told on stderr, 2 for bad
 * usage.
 *
 * Ownership: as noted at each function.
 * Threads: a command is one thread, but serve.
 */
#ifndef CMD_CMD_H
#define CMD_CMD_H

#include "cmd/flags.h"

int cmd_serve(int argc, char **argv);
int cmd_check_config(int argc, char **argv);
int cmd_check_relabel(int argc, char **argv);
int cmd_check_web_config(int argc, char **argv);
int cmd_check_selector(int argc, char **argv);
int cmd_query_labels(int argc, char **argv);
int cmd_query_series(int argc, char **argv);
int cmd_query_range(int argc, char **argv);
int cmd_query_profile(int argc, char **argv);
int cmd_query_top(int argc, char **argv);
int cmd_query_diff(int argc, char **argv);
int cmd_query_flamegraph(int argc, char **argv);
int cmd_query_export(int argc, char **argv);
int cmd_query_delete(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_tsdb_import(int argc, char **argv);
int cmd_tsdb_dump(int argc, char **argv);
int cmd_tsdb_list(int argc, char **argv);
int cmd_tsdb_stats(int argc, char **argv);
int cmd_tsdb_recode(int argc, char **argv);
int cmd_tsdb_verify(int argc, char **argv);
int cmd_tsdb_repair(int argc, char **argv);
int cmd_tsdb_confirm_clock(int argc, char **argv);
int cmd_tsdb_snapshot(int argc, char **argv);
int cmd_bench_columns(int argc, char **argv);
int cmd_bench_merge(int argc, char **argv);
int cmd_bench_series(int argc, char **argv);
int cmd_bench_storage(int argc, char **argv);
int cmd_completion(int argc, char **argv);
int cmd_man(int argc, char **argv);
int cmd_version(int argc, char **argv);

/* What --help prints before the flags: "usage: everprof …" and a sentence. */
struct usage {
	const char *line;
	const char *text;
	int min; /* positional arguments */
	int max;
};

/*
 * Parse flags and check the number of arguments. -1: go on; else the exit
 * code: --help, or bad usage, has been printed.
 */
int cmd_begin(const struct usage *u, const struct flag *flags, int *argc,
	      char **argv);

/*
 * Have --help call help instead of printing text: the manual page and the
 * completions are made so. Threads: before any other runs.
 */
typedef void (*cmd_help_fn)(const struct usage *u, const struct flag *flags);
void cmd_help_with(cmd_help_fn help);

/* Of a command that has none. */
extern const struct flag cmd_no_flags[];

/* The default of --storage.tsdb.retention.time. */
#define RETENTION_DEFAULT_MS (90LL * 24 * 3600 * 1000)

/*
 * ERR_DENIED when a data directory belongs to another user than us: what root
 * writes there, the server could not read.
 */
NODISCARD int cmd_check_owner(const char *dir, struct err *err);

/* Print "everprof: message" on stderr; returns 1. */
int cmd_fail(const struct err *err);

#endif
