/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of commands. main() finds commands in it, and the manual page and
 * completions describe what it lists, so that none of them can be stale
 * (docs/decisions.md, 100).
 */
#include "cmd/cli/commands.h"

#include <assert.h>
#include <stdio.h>

#include "base/bytes.h"

/*
 * Commands of a group (those with the same first word) are adjacent, because
 * completions begin a group at its first command.
 */
const struct command commands[] = {
	{ NULL, "serve", cmd_serve,
	  "start the server: scrape, store and serve profiles" },
	{ NULL, "agent", cmd_agent,
	  "scrape, and send the profiles to a central server" },
	{ "check", "config", cmd_check_config, "check configuration files" },
	{ "check", "relabel", cmd_check_relabel,
	  "show how relabelling changes a target" },
	{ "check", "web-config", cmd_check_web_config,
	  "check files for --web.config.file" },
	{ "check", "selector", cmd_check_selector,
	  "check the syntax of a selector" },
	{ "check", "health", cmd_check_health,
	  "ask a server whether it is healthy" },
	{ "query", "labels", cmd_query_labels,
	  "list label names, or the values of a label" },
	{ "query", "series", cmd_query_series, "list series" },
	{ "query", "range", cmd_query_range,
	  "list series and the times of their profiles" },
	{ "query", "profile", cmd_query_profile,
	  "fetch a profile, or a report on it" },
	{ "query", "top", cmd_query_top,
	  "list the functions with the highest values" },
	{ "query", "diff", cmd_query_diff,
	  "compare two time ranges or selectors" },
	{ "query", "flamegraph", cmd_query_flamegraph, "draw a flame graph" },
	{ "query", "history", cmd_query_history, "show functions over time" },
	{ "query", "running", cmd_query_running,
	  "list the queries that the server is running" },
	{ "query", "export", cmd_query_export,
	  "write all profiles of a time range to a tar" },
	{ "query", "delete", cmd_query_delete,
	  "count profiles, and delete them with --yes" },
	{ NULL, "compare", cmd_compare,
	  "tell which functions changed by more than noise" },
	{ NULL, "report", cmd_report, "merge pprof files and report on them" },
	{ NULL, "record", cmd_record,
	  "profile this machine, a process or a command with eBPF" },
	{ NULL, "push", cmd_push,
	  "send a data directory or pprof files to a server" },
	{ "tsdb", "import", cmd_tsdb_import,
	  "import pprof files into a data directory" },
	{ "tsdb", "dump", cmd_tsdb_dump,
	  "list or extract the profiles of a data directory" },
	{ "tsdb", "list", cmd_tsdb_list, "list blocks and head blocks" },
	{ "tsdb", "stats", cmd_tsdb_stats,
	  "show disk usage by label, codec and section" },
	{ "tsdb", "recode", cmd_tsdb_recode,
	  "rewrite older blocks with the columns codec" },
	{ "tsdb", "verify", cmd_tsdb_verify,
	  "check every byte of a data directory" },
	{ "tsdb", "repair", cmd_tsdb_repair,
	  "repair a damaged data directory" },
	{ "tsdb", "confirm-clock", cmd_tsdb_confirm_clock,
	  "confirm the system clock after a jump" },
	{ "tsdb", "snapshot", cmd_tsdb_snapshot,
	  "create a snapshot with hard links" },
	{ "bench", "storage", cmd_bench_storage,
	  "benchmark storage with a folder of profiles" },
	{ "bench", "columns", cmd_bench_columns,
	  "benchmark the columns codec" },
	{ "bench", "merge", cmd_bench_merge, "benchmark merging of profiles" },
	{ "bench", "ebpf", cmd_bench_ebpf,
	  "measure what profiling this machine costs" },
	{ "bench", "series", cmd_bench_series, "benchmark many series" },
	{ NULL, "completion", cmd_completion,
	  "print the completion script of a shell" },
	{ NULL, "man", cmd_man, "print the manual page" },
	{ NULL, "version", cmd_version, "print the version" },
};

static_assert(ARRAY_SIZE(commands) <= COMMANDS_MAX, "more commands");

const size_t command_count = ARRAY_SIZE(commands);

void command_name(const struct command *c, char out[32])
{
	snprintf(out, 32, "%s%s%s", c->group ? c->group : "",
		 c->group ? " " : "", c->name);
}

/*
 * The command being described and the function to call for it. Global, because
 * --help handlers receive no context.
 */
static const struct command *described;
static command_print_fn print_described;

/* The function that --help calls while commands are described. */
static void commands_describe_one(const struct usage *u,
				  const struct flag *flags)
{
	print_described(described, u, flags);
}

/*
 * The flags of a command exist only within its function. So each function is
 * called with --help, which passes them to commands_describe_one().
 */
void commands_describe(command_print_fn print)
{
	char help[] = "--help";

	print_described = print;
	cmd_help_with(commands_describe_one);
	for (size_t i = 0; i < command_count; i++) {
		char *argv[] = { help, NULL };

		described = &commands[i];
		described->run(1, argv);
	}
}
