/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of commands. main() finds commands in it, and the manual page and
 * completions describe what it lists, so that none of them can be stale
 * (docs/decisions.md, 100).
 */
#include "cmd/commands.h"

#include <assert.h>
#include <stdio.h>

#include "base/bytes.h"

/*
 * Commands of a group stand next to each other: completions begin a group at
 * its first command.
 */
const struct command commands[] = {
	{ NULL, "serve", cmd_serve, "scrape, store, answer" },
	{ "check", "config", cmd_check_config,
	  "find every error in configuration files" },
	{ "check", "relabel", cmd_check_relabel,
	  "show what relabelling does to a target" },
	{ "check", "web-config", cmd_check_web_config,
	  "check who may ask: the file of --web.config.file" },
	{ "check", "selector", cmd_check_selector, "check a selector" },
	{ "query", "labels", cmd_query_labels,
	  "list label names, or a label's values" },
	{ "query", "series", cmd_query_series, "list series" },
	{ "query", "range", cmd_query_range, "list series and their times" },
	{ "query", "profile", cmd_query_profile,
	  "fetch a profile, or any report of it" },
	{ "query", "top", cmd_query_top, "the functions that weigh most" },
	{ "query", "diff", cmd_query_diff, "compare two ranges" },
	{ "query", "flamegraph", cmd_query_flamegraph, "draw a flame graph" },
	{ "query", "export", cmd_query_export,
	  "write every profile of a range into a tar" },
	{ "query", "delete", cmd_query_delete,
	  "count profiles, and delete them" },
	{ NULL, "report", cmd_report, "merge and report pprof files" },
	{ "tsdb", "import", cmd_tsdb_import, "put pprof files into storage" },
	{ "tsdb", "dump", cmd_tsdb_dump, "list or write out what is stored" },
	{ "tsdb", "list", cmd_tsdb_list, "list blocks and open ranges" },
	{ "tsdb", "stats", cmd_tsdb_stats, "tell where the bytes go" },
	{ "tsdb", "recode", cmd_tsdb_recode,
	  "store an older directory as columns" },
	{ "tsdb", "verify", cmd_tsdb_verify, "read every byte, tell damage" },
	{ "tsdb", "repair", cmd_tsdb_repair, "save what is whole" },
	{ "tsdb", "confirm-clock", cmd_tsdb_confirm_clock,
	  "let retention go by a clock that jumped" },
	{ "tsdb", "snapshot", cmd_tsdb_snapshot, "copy it, by links" },
	{ "bench", "storage", cmd_bench_storage,
	  "measure storage over a folder of profiles" },
	{ "bench", "columns", cmd_bench_columns,
	  "measure profiles as columns" },
	{ "bench", "merge", cmd_bench_merge, "measure merging profiles" },
	{ "bench", "series", cmd_bench_series,
	  "measure what many series cost" },
	{ NULL, "completion", cmd_completion,
	  "print what a shell completes with" },
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
 * The command being described, and what to call for it: --help handlers get no
 * context of their own.
 */
static const struct command *described;
static command_print_fn print_described;

/* The --help handler while commands are described. */
static void commands_describe_one(const struct usage *u,
				  const struct flag *flags)
{
	print_described(described, u, flags);
}

/* Each command is run with --help: its flags exist only within its function. */
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
