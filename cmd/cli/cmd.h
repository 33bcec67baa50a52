/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands of everprof and what they have in common. A command gets the
 * arguments after its name and returns the exit code: 0; 1 for a failure that
 * it has reported on stderr; 2 for wrong usage.
 *
 * Ownership: arguments are borrowed from argv.
 * Threads: a command runs in one thread, except serve.
 */
#ifndef CMD_CLI_CMD_H
#define CMD_CLI_CMD_H

#include "base/buf.h"
#include "cmd/cli/flags.h"

/* Scrape, store and answer queries until a signal ends the server. */
int cmd_serve(int argc, char **argv);

/*
 * Scrape targets, keep the profiles in a log, and send them to the receivers of
 * remote_write, until SIGTERM or SIGINT.
 */
int cmd_agent(int argc, char **argv);

/* Report every error of configuration files. */
int cmd_check_config(int argc, char **argv);

/* Show what the relabelling rules of a job do to a target, step by step. */
int cmd_check_relabel(int argc, char **argv);

/* Report every error of files for --web.config.file. */
int cmd_check_web_config(int argc, char **argv);

/* Check the syntax of a selector. */
int cmd_check_selector(int argc, char **argv);

/* Ask a server whether it is healthy. */
int cmd_check_health(int argc, char **argv);

/* Print the label names of a server, or the values of a label. */
int cmd_query_labels(int argc, char **argv);

/* Print the series that selectors match. */
int cmd_query_series(int argc, char **argv);

/* Print the times of the profiles of a selector. */
int cmd_query_range(int argc, char **argv);

/*
 * Fetch one profile, or the merged profiles of a range, in any report format.
 */
int cmd_query_profile(int argc, char **argv);

/* Print the functions with the highest values. */
int cmd_query_top(int argc, char **argv);

/* Compare the profiles of two ranges or selectors. */
int cmd_query_diff(int argc, char **argv);

/* Show files with profiles in the web UI. */
int cmd_view(int argc, char **argv);

/* Draw a flame graph as SVG. */
int cmd_query_flamegraph(int argc, char **argv);

/* Print how much functions weigh over time. */
int cmd_query_history(int argc, char **argv);

/* Print the queries that a server is running. */
int cmd_query_running(int argc, char **argv);

/* Write all profiles of a selector and range to a tar. */
int cmd_query_export(int argc, char **argv);

/* Count the profiles of a selector and range, and with --yes delete them. */
int cmd_query_delete(int argc, char **argv);

/*
 * Say which functions changed by more than noise. Exit codes: 0, 1 if a change was
 * to be refused, 3 if it could not have been seen, 2 for any error.
 */
int cmd_compare(int argc, char **argv);

/* Merge local pprof files and print a report, without a server. */
int cmd_report(int argc, char **argv);

/* Take a CPU profile of this machine, without a server. */
int cmd_record(int argc, char **argv);

/* Send profiles to a receiver of remote write. */
int cmd_push(int argc, char **argv);

/* Append profiles from files, folders or tars to a data directory. */
int cmd_tsdb_import(int argc, char **argv);

/* Print or write out all profiles of a data directory. */
int cmd_tsdb_dump(int argc, char **argv);

/* List the blocks and head blocks of a data directory. */
int cmd_tsdb_list(int argc, char **argv);

/* Print the disk usage of a data directory by label, codec and section. */
int cmd_tsdb_stats(int argc, char **argv);

/*
 * Rewrite blocks that an older version made, so that they use the columns
 * codec.
 */
int cmd_tsdb_recode(int argc, char **argv);

/* Read every byte of a data directory and report damage. */
int cmd_tsdb_verify(int argc, char **argv);

/* Rewrite damaged blocks with the profiles that are intact. */
int cmd_tsdb_repair(int argc, char **argv);

/*
 * Confirm that the system clock is right after it has jumped, so that retention
 * goes on.
 */
int cmd_tsdb_confirm_clock(int argc, char **argv);

/* Make a copy of a data directory with hard links. */
int cmd_tsdb_snapshot(int argc, char **argv);

/* Print the completion script of a shell. */
int cmd_completion(int argc, char **argv);

/* Print the manual page. */
int cmd_man(int argc, char **argv);

/* Print version and revision. */
int cmd_version(int argc, char **argv);

/* The name of this program, for usage lines and messages. Set by program_run(). */
extern const char *cmd_program;

/* The usage of a command, for --help and messages. */
struct usage {
	/*
	 * `line` is printed after "usage: " and the name of the program; `text` is the description
	 * of the command.
	 */
	const char *line;
	const char *text;
	int min; /* minimum and maximum number of positional arguments */
	int max;
};

/* A placeholder in usage.text for the list of all reports (pprof/report/report.h). */
#define USAGE_REPORTS "@reports"

/*
 * Append the description to `out`; the list of reports replaces USAGE_REPORTS.
 */
void cmd_usage_text(const struct usage *u, struct buf *out);

/*
 * Parse the flags and check the number of positional arguments, which are left
 * in argv[0..*argc), with a NULL after them. Returns -1 if the command is to run. Otherwise --help or a
 * message about wrong usage has been printed, and the exit code is returned.
 */
int cmd_begin(const struct usage *u, const struct flag *flags, int *argc,
	      char **argv);

/*
 * A function that --help calls instead of printing; the usage and the flags are
 * borrowed for the call.
 */
typedef void (*cmd_help_fn)(const struct usage *u, const struct flag *flags);

/*
 * Set the function that --help calls. In this way the manual page and the
 * completions collect usage and flags of all commands. Call it before other
 * threads start.
 */
void cmd_help_with(cmd_help_fn help);

/* An empty list of flags. */
extern const struct flag cmd_no_flags[];

/* The default of --storage.tsdb.retention.time. */
#define RETENTION_DEFAULT_MS (90LL * 24 * 3600 * 1000)

/*
 * Check the owner of a data directory. ERR_DENIED: the files in the directory
 * belong to another user, perhaps the one that runs the server, who could not
 * read files that this process writes. A missing directory is no error here.
 */
NODISCARD int cmd_check_owner(const char *dir, struct err *err);

/* Print "everprof: message" on stderr; returns the exit code 1. */
int cmd_fail(const struct err *err);

#endif
