/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/program.h"

#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#include "base/suggest.h"
#include "cmd/cli/commands.h"
#include "cmd/cli/console.h"
#include "cmd/cli/symbols_helper.h"
#include "cmd/serve/ebpf.h"

/*
 * List the commands of a group, or all commands if `group` is NULL. Returns
 * their number.
 */
static int program_list_commands(FILE *out, const char *group)
{
	int n = 0;

	for (size_t i = 0; i < command_count; i++) {
		char name[32];

		if (group && (!commands[i].group ||
			      strcmp(commands[i].group, group) != 0))
			continue;
		n++;
		command_name(&commands[i], name);
		fprintf(out, "  %-18s %s\n", name, commands[i].help);
	}
	return n;
}

/*
 * Whether an argument is --help or -h; "help" is accepted too, because many
 * programs have it.
 */
static bool program_asks_for_help(const char *arg)
{
	return !strcmp(arg, "--help") || !strcmp(arg, "-h") ||
	       !strcmp(arg, "help");
}

static void program_print_help(FILE *out, const struct program *p)
{
	fprintf(out,
		"%s\n"
		"usage: %s COMMAND [ARGUMENTS] [FLAGS]\n"
		"\n"
		"Commands:\n",
		p->about, p->name);
	program_list_commands(out, NULL);
	fprintf(out,
		"\n"
		"%s COMMAND --help describes a command and its flags.\n"
		"%s",
		p->name, p->hint);
}

static bool program_is_group(const char *word)
{
	for (size_t i = 0; i < command_count; i++) {
		if (commands[i].group && !strcmp(commands[i].group, word))
			return true;
	}
	return false;
}

/* Report an unknown command, with the most similar command name. */
static int program_refuse(int argc, char **argv)
{
	static char names[COMMANDS_MAX][32];
	struct suggestion s = { 0 };
	char typed[128];
	bool two = argc > 1 && program_is_group(argv[0]);

	snprintf(typed, sizeof(typed), "%s%s%s", argv[0], argc > 1 ? " " : "",
		 argc > 1 ? argv[1] : "");
	for (size_t i = 0; i < command_count; i++) {
		command_name(&commands[i], names[i]);
		suggest_nearest(&s, str_of(typed), names[i]);
		/*
		 * Compare the first word alone, too: the second may be an
		 * argument of a mistyped command, as in "serv file".
		 */
		if (!two)
			suggest_nearest(&s, str_of(argv[0]), names[i]);
		if (!two && commands[i].group)
			suggest_nearest(&s, str_of(argv[0]), commands[i].group);
	}
	if (s.best)
		console_say("unknown command \"%s\": did you mean %s %s?",
			    two ? typed : argv[0], cmd_program, s.best);
	else
		console_say(
			"unknown command \"%s\"; %s --help lists all commands",
			two ? typed : argv[0], cmd_program);
	if (two && !s.best)
		program_list_commands(stderr, argv[0]);
	return 2;
}

/* Find the command by its one or two words and run it. */
static int program_find(int argc, char **argv)
{
	for (size_t i = 0; i < command_count; i++) {
		const struct command *c = &commands[i];
		int words = c->group ? 2 : 1;

		if (argc < words || strcmp(argv[words - 1], c->name) != 0 ||
		    (c->group && strcmp(argv[0], c->group) != 0))
			continue;
		return c->run(argc - words, argv + words);
	}
	/*
	 * The name of a group without a second word, or with --help: list the
	 * group's commands.
	 */
	if (argc == 1 || program_asks_for_help(argv[1])) {
		if (program_list_commands(argc == 1 ? stderr : stdout, argv[0]))
			return argc == 1 ? 2 : 0;
	}
	return program_refuse(argc, argv);
}

/* "help COMMAND" means "COMMAND --help". */
static int program_help(int argc, char **argv)
{
	static char flag[] = "--help";

	for (int i = 1; i < argc; i++)
		argv[i - 1] = argv[i];
	argv[argc - 1] = flag;
	return program_find(argc, argv);
}

/* Whether standard output is a pipe or socket that nobody reads any more. */
static bool program_output_is_unread(void)
{
	struct pollfd p = { .fd = STDOUT_FILENO, .events = POLLOUT };

	return poll(&p, 1, 0) == 1 && p.revents & POLLERR;
}

/*
 * Report a failed write of standard output, such as to a full disk, which would
 * otherwise look like success. If the reader has closed the pipe, as head does,
 * nothing has failed: end silently by SIGPIPE, like other programs.
 */
static int program_finish(int code)
{
	struct err err;

	if (!fflush(stdout) && !ferror(stdout))
		return code;
	err_sys(&err, "cannot write to standard output");
	if (program_output_is_unread()) {
		signal(SIGPIPE, SIG_DFL);
		raise(SIGPIPE);
	}
	return code ? code : cmd_fail(&err);
}

int program_run(const struct program *p, int argc, char **argv)
{
	/*
	 * Buffers of at least this size get memory mappings of their own, which
	 * are returned to the system when the buffers are freed. If the size is
	 * not set, glibc raises it whenever such a buffer is freed, and would
	 * then keep the memory of the largest profile (docs/decisions.md, 30).
	 */
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): no thread runs yet */
	mallopt(M_MMAP_THRESHOLD, 1024 * 1024);
	/*
	 * All threads share one heap: a heap for each thread would keep the
	 * memory of the thread's largest query (docs/decisions.md, 54). Up to 4
	 * MiB of free memory stay at the end of the heap: to return all of it
	 * would cost a query a tenth of its time in page faults.
	 */
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): no thread runs yet */
	mallopt(M_ARENA_MAX, 1);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): no thread runs yet */
	mallopt(M_TRIM_THRESHOLD, 4 * 1024 * 1024);
	/*
	 * Writing to a closed pipe or beyond RLIMIT_FSIZE makes write() fail
	 * instead of ending the process.
	 */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	commands = p->commands;
	command_count = p->count;
	cmd_program = p->name;
	if (argc < 2) {
		program_print_help(stderr, p);
		return 2;
	}
	if (program_asks_for_help(argv[1]) && argc > 2 &&
	    !program_asks_for_help(argv[2]))
		return program_finish(program_help(argc - 1, argv + 1));
	if (program_asks_for_help(argv[1])) {
		program_print_help(stdout, p);
		return program_finish(0);
	}
	if (!strcmp(argv[1], EBPF_HELPER))
		return ebpf_help();
	if (!strcmp(argv[1], EBPF_PROCESS_HELPER))
		return ebpf_help_processes();
	if (!strcmp(argv[1], SYMBOLS_HELPER))
		return symbolizer_help();
	if (!strcmp(argv[1], SYMBOLS_OPENER))
		return symbolizer_help_open();
	if (!strcmp(argv[1], "--version"))
		return program_finish(cmd_version(0, argv));
	return program_finish(program_find(argc - 1, argv + 1));
}
