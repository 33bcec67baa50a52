/* SPDX-License-Identifier: Apache-2.0 */
/*
 * everprof query profile, top, flamegraph and diff: fetch a profile, or a
 * report on merged or compared profiles, from a server or a data directory.
 */
#include "cmd/query/query_fetch.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cmd/cli/cmd.h"
#include "cmd/cli/console.h"
#include "cmd/cli/output.h"
#include "cmd/query/report_flags.h"
#include "pprof/report/report.h"

/*
 * Append the flags that choose and combine profiles. If `one_profile` is set,
 * the command fetches a single profile unless --from asks for a time range.
 */
static void add_report(struct query_command *j, bool one_profile)
{
	query_fetch_add_range(j, one_profile);
	query_fetch_add_flag(
		j,
		(struct flag){
			"time", FLAG_TIME, &j->time, NULL,
			"Use the single profile nearest to this time, at most 5 minutes away." });
	query_fetch_add_flag(
		j,
		(struct flag){
			"aggregate", FLAG_TEXT, &j->aggregate, "auto",
			"How to aggregate profiles: auto, sum, delta, mean or last." });
	query_fetch_add_flag(
		j,
		(struct flag){
			"group_by", FLAG_TEXT, &j->group_by, NULL,
			"Labels that become the outermost frames, separated by commas." });
}

/* Append the flags of all report options. */
static void add_options(struct query_command *j)
{
	struct flag *end =
		report_flags_list(&j->options, j->flags + j->flag_count);

	j->flag_count = (size_t)(end - j->flags);
}

/*
 * report_flags_each() callback: add an option to the request, which is `ctx`.
 */
static void option_param(void *ctx, const char *name, const char *value)
{
	query_param(ctx, name, value);
}

/* Add to the request the name of the report and all options that were given. */
static void report_params(struct query_command *j, const char *report)
{
	query_param(&j->q, "report", report);
	query_param(&j->q, "aggregate", j->aggregate);
	query_param(&j->q, "group_by", j->group_by);
	report_flags_each(&j->options, option_param, &j->q);
}

/*
 * The second column of a row of pprof's table: the flat value of the row
 * (without callees) in percent of the total.
 */
static double flat_share(struct str line)
{
	char text[64];
	char *end;
	size_t n = line.len < sizeof(text) ? line.len : sizeof(text) - 1;

	memcpy(text, line.ptr, n);
	text[n] = 0;
	(void)strtod(text, &end);
	end += strcspn(end, " ");
	return strtod(end, NULL);
}

/*
 * Print a table with rows colored by their flat percentage, as in pprof's
 * graph: red from 10 %, yellow from 1 %.
 */
static void print_colored(struct str text)
{
	bool table = false;

	while (text.len) {
		struct str line = str_cut(text, '\n', &text);
		double share = table ? flat_share(line) : 0;
		const char *color = share >= 10 ? "\033[31m" :
				    share >= 1  ? "\033[33m" :
						  "";

		if (!table && str_starts(str_trim(line), str_of("flat"))) {
			table = true;
			color = "\033[1m";
		}
		printf("%s", color);
		console_lines(stdout, line);
		printf("%s\n", *color ? "\033[0m" : "");
	}
}

/* Write the body to the output. Tables are colored only on a terminal. */
static int query_report_print(const char *output, const char *report,
			      struct bytes b, struct err *err)
{
	const struct report_type *type = report_find(str_of(report));

	if (!strcmp(report, "top") && !strcmp(output, "-") && isatty(1)) {
		print_colored(str_from(b));
		return 0;
	}
	return output_save(output, type && type->for_people, b, err);
}

/* Send the request, write the answer, and return the exit code. */
static int query_report_run(struct query_command *j, const char *report)
{
	const char *output = *j->output ? j->output : "-";
	struct http_response r = { 0 };
	struct err err;
	int rc = report_flags_check_output(output, report, &err);

	if (!rc)
		rc = query_fetch(&j->q, &r, &err);
	if (!rc)
		rc = query_report_print(output, report, buf_bytes(&r.body),
					&err);
	buf_fini(&r.body);
	query_fini(&j->q);
	return rc ? cmd_fail(&err) : 0;
}

/*
 * With --time, or without any time flag, a single profile is fetched; with
 * --from, the merged profiles of a range. Binary formats need -o, so that they
 * do not end up on a terminal.
 */
int cmd_query_profile(int argc, char **argv)
{
	static const struct usage u = {
		"query profile SELECTOR -o FILE [FLAGS]",
		"Fetch the profile that matches a selector and is nearest to a time, at most 5 minutes\n"
		"away; with --from, merge all profiles of a time range.\n\n"
		"Reports: " USAGE_REPORTS
		",\nproto (gzipped pprof), raw (as stored), meta, pgo.",
		1, 1
	};
	struct query_command j;
	int code;

	query_fetch_init(&j);
	query_fetch_add_server(&j);
	add_report(&j, true);
	query_fetch_add_flag(
		&j,
		(struct flag){
			"match", FLAG_TEXT, &j.match, "nearest",
			"Which profile to use, relative to the time: nearest, before, after or exact." });
	query_fetch_add_flag(
		&j, (struct flag){ "report", FLAG_TEXT, &j.report, "proto",
				   "Report to print; the list is above." });
	add_options(&j);
	code = cmd_begin(&u, j.flags, &argc, argv);
	if (code >= 0)
		return code;
	if (*j.time && (*j.from || *j.to))
		return query_fetch_contradiction("--time", "--from and --to");
	if (*j.to && !*j.from) {
		console_say(
			"--to needs --from: without --from, a single profile is fetched (see --help)");
		return 2;
	}
	if (!*j.output &&
	    (!strcmp(j.report, "proto") || !strcmp(j.report, "raw") ||
	     !strcmp(j.report, "pgo"))) {
		console_say("-o FILE is missing (see --help)");
		return 2;
	}
	query_path(&j.q, "/api/v1/query");
	query_param(&j.q, "query", argv[0]);
	query_param(&j.q, "mode", *j.from ? "merge" : "single");
	query_param(&j.q, "from", j.from);
	query_param(&j.q, "to", *j.from && !*j.to ? "now" : j.to);
	query_param(&j.q, "time", *j.time ? j.time : "now");
	query_param(&j.q, "match", j.match);
	query_param(&j.q, "format", "text");
	report_params(&j, j.report);
	j.q.tell_profile = !*j.from;
	return query_report_run(&j, j.report);
}

/*
 * The commands top and flamegraph: one report of a range, or of a difference if
 * a base is given.
 */
static int run_merged(struct query_command *j, const struct usage *u,
		      const char *report, int argc, char **argv)
{
	bool diff;
	int code;

	query_fetch_init(j);
	query_fetch_add_server(j);
	add_report(j, false);
	query_fetch_add_base(j, false);
	add_options(j);
	code = cmd_begin(u, j->flags, &argc, argv);
	if (code >= 0)
		return code;
	diff = *j->base_from || *j->base_to || *j->base_time;
	if (*j->time && (*j->from || *j->to))
		return query_fetch_contradiction("--time", "--from and --to");
	code = diff ? query_fetch_check_base(j, argc) : 0;
	if (code)
		return code;
	query_path(&j->q, diff ? "/api/v1/query?mode=diff" : "/api/v1/query");
	if (diff)
		query_fetch_sides(j, argv[0], argv[0]);
	else
		query_fetch_side(j, "", argv[0], j->time,
				 (const char *const[]){ j->from, j->to });
	query_param(&j->q, "format", "text");
	report_params(j, report);
	j->q.tell_profile = *j->time;
	return query_report_run(j, report);
}

int cmd_query_top(int argc, char **argv)
{
	static const struct usage u = {
		"query top SELECTOR [FLAGS]",
		"List the functions with the highest values in the profiles of a time range, like\n"
		"pprof -top; with a base, list the differences.",
		1, 1
	};
	struct query_command j;

	return run_merged(&j, &u, "top", argc, argv);
}

int cmd_query_flamegraph(int argc, char **argv)
{
	static const struct usage u = {
		"query flamegraph SELECTOR -o FILE.svg [FLAGS]",
		"Draw a flame graph of the profiles of a time range, as an SVG for any browser; with a\n"
		"base, color the differences.",
		1, 1
	};
	struct query_command j;

	return run_merged(&j, &u, "flamegraph", argc, argv);
}

int cmd_query_diff(int argc, char **argv)
{
	static const struct usage u = {
		"query diff SELECTOR [BASE-SELECTOR] --base-from=T --base-to=T "
		"[FLAGS]",
		"Print how the profiles of a time range differ from those of the base: another time\n"
		"range, another selector, or both.",
		1, 2
	};
	struct query_command j;
	int code;

	query_fetch_init(&j);
	query_fetch_add_server(&j);
	add_report(&j, false);
	query_fetch_add_base(&j, false);
	query_fetch_add_flag(
		&j,
		(struct flag){
			"diff_base", FLAG_BOOL, &j.diff_base, NULL,
			"Like pprof -diff_base: percentages are relative to the base." });
	j.report = "top";
	query_fetch_add_flag(
		&j,
		(struct flag){
			"report", FLAG_TEXT, &j.report, "top",
			"Report to print; see the list in everprof query profile --help." });
	add_options(&j);
	code = cmd_begin(&u, j.flags, &argc, argv);
	if (code >= 0)
		return code;
	code = query_fetch_check_base(&j, argc);
	if (code)
		return code;
	query_path(&j.q, "/api/v1/query?mode=diff");
	query_fetch_sides(&j, argv[0], argc > 1 ? argv[1] : argv[0]);
	query_param(&j.q, "format", "text");
	query_param(&j.q, "diff", j.diff_base ? "diff_base" : "");
	report_params(&j, j.report);
	return query_report_run(&j, j.report);
}
