/* SPDX-License-Identifier: Apache-2.0 */
/*
 * everprof man: the manual page in the macros of man(7), made from the tables
 * of commands and of their flags, so that it cannot be stale
 * (docs/decisions.md, 100).
 */
#include <stdio.h>

#include "cmd/cli/cmd.h"
#include "cmd/cli/commands.h"
#include "cmd/cli/version.h"

/*
 * Print text so that troff shows it unchanged: a dot or quote at the start of a
 * line would begin a macro, and a bare - would be a hyphen.
 */
static void print_escaped(const char *text)
{
	bool line = true;

	for (; *text; text++) {
		if (line && (*text == '.' || *text == '\''))
			fputs("\\&", stdout);
		line = *text == '\n';
		if (*text == '-')
			fputs("\\-", stdout);
		else if (*text == '\\')
			fputs("\\e", stdout);
		else
			putchar(*text);
	}
}

/* Print a tagged paragraph for a flag, with its default and help. */
static void print_flag(const struct flag *f)
{
	fputs(".TP\n\\fB\\-\\-", stdout);
	if (f->kind == FLAG_BOOL)
		fputs("\\fR[\\fBno\\-\\fR]\\fB", stdout);
	print_escaped(f->name);
	fputs("\\fR", stdout);
	if (f->kind != FLAG_BOOL)
		fputs("=…", stdout);
	if (f->fallback) {
		fputs("  (default: ", stdout);
		print_escaped(f->fallback);
		putchar(')');
	}
	putchar('\n');
	print_escaped(f->help);
	putchar('\n');
}

/*
 * Print a sub-section for a command. A quote within an argument of a macro is
 * doubled.
 */
static void print_command(const struct command *c UNUSED, const struct usage *u,
			  const struct flag *f)
{
	struct buf text = { 0 };

	fputs(".SS \"", stdout);
	for (const char *at = u->line; *at; at++) {
		char one[] = { *at, 0 };

		print_escaped(*at == '"' ? "\"\"" : one);
	}
	fputs("\"\n", stdout);
	cmd_usage_text(u, &text);
	print_escaped(buf_cstr(&text));
	buf_fini(&text);
	putchar('\n');
	for (; f->name; f++)
		print_flag(f);
}

int cmd_man(int argc, char **argv)
{
	static const struct usage usage = {
		"man",
		"Print the manual page. To read it: everprof man | man -l -", 0,
		0
	};
	int code = cmd_begin(&usage, cmd_no_flags, &argc, argv);

	if (code >= 0)
		return code;
	puts(".TH EVERPROF 1 \"\" \"everprof " EVERPROF_VERSION
	     "\" \"User Commands\"\n"
	     ".SH NAME\n"
	     "everprof \\- continuous\\-profiling database\n"
	     ".SH SYNOPSIS\n"
	     ".B everprof\n"
	     ".I COMMAND\n"
	     ".RI [ FLAGS ]\n"
	     ".SH DESCRIPTION\n"
	     "everprof scrapes pprof endpoints with a Prometheus\\-like configuration, stores every\n"
	     "profile byte for byte, and finds profiles by label selector and time.\n"
	     "Flags are written \\-\\-name=value or \\-\\-name value; \\-\\- ends the flags.\n"
	     ".SH COMMANDS");
	commands_describe(print_command);
	puts(".SH SIGNALS\n"
	     "everprof serve reloads its configuration on SIGHUP, and shuts down cleanly on SIGTERM and SIGINT.\n"
	     ".SH EXIT STATUS\n"
	     "0 for success; 1 for a failure, with the reason on standard error; 2 for wrong usage.\n"
	     ".SH FILES\n"
	     ".TP\n"
	     ".I everprof.yaml\n"
	     "The configuration file; see docs/configuration.md.\n"
	     ".TP\n"
	     ".I data/\n"
	     "The data directory: lock, state, wal/, ranges/, and a directory for each block.\n"
	     ".SH SEE ALSO\n"
	     "prometheus(1), go tool pprof");
	return 0;
}
