/* SPDX-License-Identifier: Apache-2.0 */
#include <malloc.h>
#include <signal.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/suggest.h"

static const struct command {
	const char *group; /* NULL: none */
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} commands[] = {
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
	{ NULL, "version", cmd_version, "print the version" },
};

static void command_name(const struct command *c, char out[32])
{
	snprintf(out, 32, "%s%s%s", c->group ? c->group : "",
		 c->group ? " " : "", c->name);
}

/* The commands of a group, or all. Returns how many. */
static int list(FILE *out, const char *group)
{
	int n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		char name[32];

		if (group && (!commands[i].group ||
			      strcmp(commands[i].group, group) != 0))
			continue;
		n++;
		command_name(&commands[i], name);
		fprintf(out, "  %-16s %s\n", name, commands[i].help);
	}
	return n;
}

static bool asks_for_help(const char *arg)
{
	return !strcmp(arg, "--help") || !strcmp(arg, "-h") ||
	       !strcmp(arg, "help");
}

static void help(FILE *out)
{
	fprintf(out,
		"everprof keeps every profile: it scrapes pprof endpoints, "
		"stores what they answer,\nand finds it again by label "
		"selector and time.\n\n"
		"usage: everprof COMMAND [--help] …\n\nCommands:\n");
	list(out, NULL);
	fprintf(out, "\nThe first: everprof serve "
		     "--config.file=everprof.yaml\n");
}

static bool is_group(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (commands[i].group && !strcmp(commands[i].group, word))
			return true;
	}
	return false;
}

/* What was typed, and what was probably meant. */
static int unknown_command(int argc, char **argv)
{
	static char names[ARRAY_SIZE(commands)][32];
	struct suggestion s = { 0 };
	char typed[128];
	bool two = argc > 1 && is_group(argv[0]);

	snprintf(typed, sizeof(typed), "%s%s%s", argv[0], two ? " " : "",
		 two ? argv[1] : "");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		command_name(&commands[i], names[i]);
		suggest(&s, str_of(typed), names[i]);
	}
	fprintf(stderr, "everprof: there is no command \"%s\"", typed);
	if (s.best)
		fprintf(stderr, ": did you mean everprof %s?\n", s.best);
	else
		fprintf(stderr, "; everprof --help lists them\n");
	if (two && !s.best)
		list(stderr, argv[0]);
	return 2;
}

static int run(int argc, char **argv)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		const struct command *c = &commands[i];
		int words = c->group ? 2 : 1;

		if (argc < words || strcmp(argv[words - 1], c->name) != 0 ||
		    (c->group && strcmp(argv[0], c->group) != 0))
			continue;
		return c->run(argc - words, argv + words);
	}
	/* A group alone, or with --help. */
	if (argc == 1 || asks_for_help(argv[1])) {
		if (list(argc == 1 ? stderr : stdout, argv[0]))
			return argc == 1 ? 2 : 0;
	}
	return unknown_command(argc, argv);
}

/* What could not be written must not look as if it had been. */
static int finish(int code)
{
	struct err err;

	if (!fflush(stdout) && !ferror(stdout))
		return code;
	err_sys(&err, "write standard output");
	return code ? code : cmd_fail(&err);
}

int main(int argc, char **argv)
{
	/*
	 * Large buffers are maps of their own, given back when freed: glibc
	 * would otherwise learn to keep those of the largest profile.
	 */
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): no thread runs yet */
	mallopt(M_MMAP_THRESHOLD, 1024 * 1024);
	/*
	 * And one heap for all threads, with a little kept at its end: a heap
	 * for each would keep what its largest query took, and giving all of
	 * it back costs a query a tenth of its time in page faults.
	 */
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): no thread runs yet */
	mallopt(M_ARENA_MAX, 1);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): no thread runs yet */
	mallopt(M_TRIM_THRESHOLD, 4 * 1024 * 1024);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* RLIMIT_FSIZE is an error of write() then */
	if (argc < 2) {
		help(stderr);
		return 2;
	}
	if (asks_for_help(argv[1])) {
		help(stdout);
		return 0;
	}
	if (!strcmp(argv[1], "--version"))
		return cmd_version(0, argv);
	return finish(run(argc - 1, argv + 1));
}
