/* SPDX-License-Identifier: Apache-2.0 */
/*
 * everprof completion: scripts for bash, zsh and fish, made from the tables of
 * commands and of their flags, so that they cannot be stale (docs/decisions.md,
 * 100).
 */
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/commands.h"

/*
 * Print text in single quotes, which all three shells understand. A quote
 * within it becomes '\''; the given characters get a backslash.
 */
static void print_quoted(const char *text, const char *escaped)
{
	putchar('\'');
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\'", stdout);
		else if (*text == '\\' || strchr(escaped, *text))
			putchar('\\');
		putchar(*text);
	}
	putchar('\'');
}

/* Print the words of a command. */
static void completion_print_name(const struct command *c)
{
	char name[32];

	command_name(c, name);
	fputs(name, stdout);
}

/* Whether the command is the first one of its group. */
static bool begins_group(size_t i)
{
	const char *group = commands[i].group;

	return group && (!i || !commands[i - 1].group ||
			 strcmp(commands[i - 1].group, group) != 0);
}

/*
 * bash: a function that maps the words typed so far to the words that may
 * follow.
 */

/*
 * A case for the flags of a command. Flags with a value end in =, after which
 * no space is inserted.
 */
static void bash_flags(const struct command *c, const struct usage *u UNUSED,
		       const struct flag *f)
{
	fputs("  '", stdout);
	completion_print_name(c);
	fputs("') echo '--help", stdout);
	for (; f->name; f++)
		printf(" --%s%s", f->name, f->kind == FLAG_BOOL ? "" : "=");
	puts("' ;;");
}

/* Cases for the first word, and for the second word of each group. */
static void bash_groups(void)
{
	fputs("  '') echo '", stdout);
	for (size_t i = 0; i < command_count; i++) {
		if (!commands[i].group || begins_group(i))
			printf("%s ", commands[i].group ?: commands[i].name);
	}
	for (size_t i = 0; i < command_count; i++) {
		if (begins_group(i))
			printf(" --help' ;;\n  '%s') echo '",
			       commands[i].group);
		if (commands[i].group)
			printf("%s ", commands[i].name);
	}
	puts(" --help' ;;");
}

static void print_bash(void)
{
	puts("# What bash completes everprof with: made by everprof completion bash\n"
	     "_everprof_words() {\n"
	     "  case $1 in");
	bash_groups();
	commands_describe(bash_flags);
	puts("  esac\n"
	     "}\n"
	     "_everprof() {\n"
	     "  local cur=${COMP_WORDS[COMP_CWORD]} command='' longer i\n"
	     "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
	     "    longer=${command:+$command }${COMP_WORDS[i]}\n"
	     "    [[ -n $(_everprof_words \"$longer\") ]] || break\n"
	     "    command=$longer\n"
	     "  done\n"
	     "  COMPREPLY=($(compgen -W \"$(_everprof_words \"$command\")\" -- \"$cur\"))\n"
	     "  [[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace 2>/dev/null\n"
	     "}\n"
	     "complete -o default -F _everprof everprof");
}

/* zsh: _describe offers commands, _arguments offers flags with their help. */

/*
 * A case for the flags of a command. Brackets and colons have a meaning in the
 * specifications of _arguments, so they are escaped.
 */
static void zsh_flags(const struct command *c, const struct usage *u UNUSED,
		      const struct flag *f)
{
	fputs("  '", stdout);
	completion_print_name(c);
	fputs("') flags=(", stdout);
	for (; f->name; f++) {
		printf("\n    '--%s%s['", f->name,
		       f->kind == FLAG_BOOL ? "" : "=");
		print_quoted(f->help, "[]:");
		fputs(f->kind == FLAG_BOOL ? "']'" : "']:value:_files'",
		      stdout);
	}
	puts("\n    '--help[Print the flags.]') ;;");
}

/*
 * Cases for the first word, and for the second word of each group, with the
 * help of commands.
 */
static void zsh_groups(void)
{
	puts("  case $command in");
	fputs("  '') next=(", stdout);
	for (size_t i = 0; i < command_count; i++) {
		if (commands[i].group && !begins_group(i))
			continue;
		fputs("\n    ", stdout);
		if (commands[i].group) {
			printf("'%s'", commands[i].group);
			continue;
		}
		printf("'%s:'", commands[i].name);
		print_quoted(commands[i].help, ":");
	}
	for (size_t i = 0; i < command_count; i++) {
		if (begins_group(i))
			printf(") ;;\n  '%s') next=(", commands[i].group);
		if (!commands[i].group)
			continue;
		printf("\n    '%s:'", commands[i].name);
		print_quoted(commands[i].help, ":");
	}
	puts(") ;;");
}

static void print_zsh(void)
{
	puts("#compdef everprof\n"
	     "# What zsh completes everprof with: made by everprof completion zsh\n"
	     "local command=\"${words[2]-} ${words[3]-}\"\n"
	     "local -a next flags\n"
	     "case ${words[2]-} in");
	for (size_t i = 0; i < command_count; i++) {
		if (!commands[i].group)
			printf("%s) command=${words[2]} ;;\n",
			       commands[i].name);
	}
	puts("esac\n"
	     "(( CURRENT > 3 )) || [[ $command != *' '* ]] || command=${words[2]-}\n"
	     "(( CURRENT > 2 )) || command=''");
	zsh_groups();
	commands_describe(zsh_flags);
	puts("  esac\n"
	     "if (( ${#next} )); then\n"
	     "  _describe command next\n"
	     "else\n"
	     "  _arguments \"${flags[@]}\" '*:argument:_files'\n"
	     "fi");
}

/*
 * fish: one "complete" line for each word, with a condition on the words before
 * it.
 */

/* A line for each flag of a command; -r says that it needs a value. */
static void fish_flags(const struct command *c, const struct usage *u UNUSED,
		       const struct flag *f)
{
	for (; f->name; f++) {
		fputs("complete -c everprof -n '__everprof_in ", stdout);
		completion_print_name(c);
		printf("' -l %s %s-d ", f->name,
		       f->kind == FLAG_BOOL ? "" : "-r ");
		print_quoted(f->help, "");
		putchar('\n');
	}
}

/* A line for a word that may follow the words "before". help may be NULL. */
static void fish_command(const char *before, const char *name, const char *help)
{
	printf("complete -c everprof -f -n '__everprof_after %s' -a %s", before,
	       name);
	if (help) {
		fputs(" -d ", stdout);
		print_quoted(help, "");
	}
	putchar('\n');
}

static void print_fish(void)
{
	puts("# What fish completes everprof with: made by everprof completion fish\n"
	     "function __everprof_after\n"
	     "    set -l typed (commandline -opc)\n"
	     "    test \"$typed[2..]\" = \"$argv\"\n"
	     "end\n"
	     "function __everprof_in\n"
	     "    set -l typed (commandline -opc)\n"
	     "    set -l last (math 1 + (count $argv))\n"
	     "    test (count $typed) -ge $last\n"
	     "    and test \"$typed[2..$last]\" = \"$argv\"\n"
	     "end");
	for (size_t i = 0; i < command_count; i++) {
		const struct command *c = &commands[i];

		if (begins_group(i))
			fish_command("", c->group, NULL);
		fish_command(c->group ?: "", c->name, c->help);
	}
	puts("complete -c everprof -l help -d 'Print the flags.'");
	commands_describe(fish_flags);
}

int cmd_completion(int argc, char **argv)
{
	static const struct usage usage = {
		"completion bash|zsh|fish",
		"Print what the shell completes everprof with: its packages install it; by hand,\n"
		"source <(everprof completion bash)",
		1, 1
	};
	int code = cmd_begin(&usage, cmd_no_flags, &argc, argv);

	if (code >= 0)
		return code;
	if (!strcmp(argv[0], "bash")) {
		print_bash();
	} else if (!strcmp(argv[0], "zsh")) {
		print_zsh();
	} else if (!strcmp(argv[0], "fish")) {
		print_fish();
	} else {
		fprintf(stderr,
			"everprof: there is no completion for \"%s\": there are bash, zsh, fish\n",
			argv[0]);
		return 2;
	}
	return 0;
}
