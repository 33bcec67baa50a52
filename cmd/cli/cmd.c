/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that all commands share: flags, help, usage errors, exit codes. */
#include "cmd/cli/cmd.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "cmd/cli/console.h"
#include "cmd/cli/version.h"
#include "pprof/report/report.h"

const char *cmd_program = "everprof";

/*
 * The name of the positional argument with the index `n`. The names are the
 * words in capitals of the usage line. The result is valid until the next call.
 */
static const char *missing_argument(const struct usage *u, int n)
{
	static char name[64];
	const char *at = u->line;

	for (; *at; at += strcspn(at, " "), at += strspn(at, " ")) {
		size_t len = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-");

		if (len < 2 || *at == '-' || strcspn(at, " ") < len || n-- > 0)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)len, at);
		return name;
	}
	return "an argument";
}

void cmd_usage_text(const struct usage *u, struct buf *out)
{
	const char *at = strstr(u->text, USAGE_REPORTS);

	if (!at) {
		buf_str(out, u->text);
		return;
	}
	buf_add(out, u->text, (size_t)(at - u->text));
	report_list_names(out, ", ");
	buf_str(out, at + strlen(USAGE_REPORTS));
}

/* The default of show_help: print the usage, the description and the flags. */
static void print_help(const struct usage *u, const struct flag *flags)
{
	struct buf text = { 0 };

	cmd_usage_text(u, &text);
	printf("usage: %s %s\n\n%s\n\n", cmd_program, u->line, buf_cstr(&text));
	buf_fini(&text);
	flags_help(stdout, flags);
}

const struct flag cmd_no_flags[] = { { 0 } };

/*
 * The function that --help calls. It is set before threads start, so it needs
 * no lock.
 */
static cmd_help_fn show_help = print_help;

void cmd_help_with(cmd_help_fn help)
{
	show_help = help;
}

int cmd_begin(const struct usage *u, const struct flag *flags, int *argc,
	      char **argv)
{
	struct err err;
	bool help;

	if (flags_parse(flags, argc, argv, &help, &err)) {
		console_say("%s", err.msg);
		fprintf(stderr, "usage: %s %s\n", cmd_program, u->line);
		return 2;
	}
	if (help) {
		show_help(u, flags);
		return 0;
	}
	/*
	 * --help takes precedence over missing arguments, because its output
	 * tells which arguments are needed.
	 */
	if (*argc < u->min || *argc > u->max) {
		if (*argc > u->max)
			console_say("unexpected argument \"%s\"", argv[u->max]);
		else
			console_say("%s is missing",
				    missing_argument(u, *argc));
		fprintf(stderr, "usage: %s %s   (see --help)\n", cmd_program,
			u->line);
		return 2;
	}
	return -1;
}

int cmd_fail(const struct err *err)
{
	console_say("%s", err->msg);
	return 1;
}

/*
 * The file "lock" belongs to the user that opened the directory first. The
 * directory itself can belong to root, as the volume of a Kubernetes pod does,
 * whose group alone is changed (fsGroup).
 */
int cmd_check_owner(const char *dir, struct err *err)
{
	CLEANUP(mem_freep) char *lock = mem_printf("%s/lock", dir);
	struct stat st;

	if (lstat(lock, &st) < 0 && stat(dir, &st) < 0)
		/* A missing directory is reported by the code that opens it. */
		return 0;
	if (st.st_uid == geteuid() ||
	    (S_ISDIR(st.st_mode) && geteuid() && !access(dir, W_OK | X_OK)))
		return 0;
	return err_set(
		err, ERR_DENIED,
		"the files in %s belong to another user, who could not read files written by this command: as root, run \"cd %s && setpriv --reuid=%u --clear-groups everprof …\", with \".\" as the data directory",
		dir, dir, st.st_uid);
}

/* The revision is left out when the build does not know it. */
int cmd_version(int argc, char **argv)
{
	static const struct usage usage = { "version", "Print the version.", 0,
					    0 };
	int code = cmd_begin(&usage, cmd_no_flags, &argc, argv);

	if (code >= 0)
		return code;
	printf("everprof %s", EVERPROF_VERSION);
	if (*EVERPROF_REVISION)
		printf(" (revision %s)", EVERPROF_REVISION);
	printf("\n");
	return 0;
}
