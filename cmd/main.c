/* SPDX-License-Identifier: Apache-2.0 */
/* Entry point of everprof, with the table of its commands. */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "cmd/cli/console.h"
#include "cmd/program.h"

/*
 * Commands of a group (those with the same first word) are adjacent, because
 * completions begin a group at its first command.
 */
static const struct command main_commands[] = {
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
	{ NULL, "view", cmd_view,
	  "show files with profiles in the web UI, or compare two" },
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
	{ NULL, "completion", cmd_completion,
	  "print the completion script of a shell" },
	{ NULL, "man", cmd_man, "print the manual page" },
	{ NULL, "version", cmd_version, "print the version" },
};

static_assert(ARRAY_SIZE(main_commands) <= COMMANDS_MAX, "more commands");

/*
 * "everprof bench" runs the program of the benchmarks, which is beside this one
 * where it was built, and is not installed.
 */
static int main_bench(char **argv)
{
	char path[4096];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 16);
	char *name = len < 0 ? NULL : memrchr(path, '/', (size_t)len);

	if (name) {
		memcpy(name + 1, "everprof-bench", sizeof("everprof-bench"));
		execv(path, argv);
	}
	console_say(
		"benchmarks are a program of their own, everprof-bench, which is not installed: ./dev build makes it in build/release");
	return 2;
}

int main(int argc, char **argv)
{
	static const struct program everprof = {
		.name = "everprof",
		.about =
			"everprof is a continuous-profiling database: it scrapes pprof endpoints, stores every\n"
			"profile, and finds profiles by label selector and time.\n",
		.hint = "To start a server: everprof serve --config.file=everprof.yaml\n",
		.commands = main_commands,
		.count = ARRAY_SIZE(main_commands),
	};

	if (argc > 1 && !strcmp(argv[1], "bench"))
		return main_bench(argv + 1);
	return program_run(&everprof, argc, argv);
}
