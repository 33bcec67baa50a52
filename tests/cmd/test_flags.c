/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flags of the command line: values of each kind, positional arguments, help,
 * mistakes and what is suggested for them.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/suggest.h"
#include "cmd/cli/cmd.h"
#include "cmd/cli/flags.h"
#include "tests/check.h"

TestSuite(flags, .timeout = 20);

static struct {
	const char *text;
	const char *time;
	int64_t number;
	int64_t wait;
	int64_t size;
	bool on;
	bool no_op;
} got;

static const struct flag list[] = {
	{ "output", FLAG_TEXT, &got.text, "a.txt", "Where to." },
	{ "from", FLAG_TIME, &got.time, NULL, "Since when." },
	{ "max-count", FLAG_INT, &got.number, "7", "How many." },
	{ "query.timeout", FLAG_DURATION, &got.wait, "1m30s", "How long." },
	{ "size", FLAG_SIZE, &got.size, "1KB", "How large." },
	{ "on", FLAG_BOOL, &got.on, "no", "Whether." },
	{ "no-op", FLAG_BOOL, &got.no_op, NULL, "Whether not." },
	{ 0 },
};

/* Arguments as main() gets them: at most 15, and a NULL behind them. */
struct arguments {
	char texts[15][64];
	char *v[16];
	int count;
	bool help;
};

/* Parse words that are separated by spaces. */
static int parse_line(struct arguments *a, const char *line, struct err *err)
{
	struct str rest = str_of(line);

	*a = (struct arguments){ 0 };
	while (rest.len) {
		struct str word = str_cut(rest, ' ', &rest);

		snprintf(a->texts[a->count], sizeof(a->texts[0]), "%.*s",
			 STR_ARG(word));
		a->v[a->count] = a->texts[a->count];
		a->count++;
	}
	return flags_parse(list, &a->count, a->v, &a->help, err);
}

static void reset(void)
{
	memset(&got, 0, sizeof(got));
	flags_set_defaults(list);
}

Test(flags, defaults_are_set_from_their_texts)
{
	got.on = true;
	got.time = "kept";
	flags_set_defaults(list);
	cr_assert(!strcmp(got.text, "a.txt"));
	cr_expect(got.number == 7);
	cr_assert(got.wait == 90000);
	cr_expect(got.size == 1024);
	cr_assert(got.on, "booleans, and what has no default, are left alone");
	cr_expect(!strcmp(got.time, "kept"),
		  "booleans, and what has no default, are left alone");
}

Test(flags, values_come_behind_an_equals_sign_or_next)
{
	struct arguments a;
	struct err err;

	reset();
	cr_expect(!parse_line(&a,
			      "--output=x --from now-1h --max-count=0 "
			      "--query.timeout 5s --size=2MB --on",
			      &err));
	cr_assert(!strcmp(got.text, "x"));
	cr_expect(!strcmp(got.time, "now-1h"));
	cr_assert(got.number == 0);
	cr_expect(got.wait == 5000);
	cr_assert(got.size == 2 * MIB);
	cr_expect(got.on);
	cr_assert(!a.count);
	cr_expect(!a.help);
	cr_expect(!parse_line(&a, "--no-on -o y --from=1700000000", &err));
	cr_assert(!got.on);
	cr_expect(!strcmp(got.text, "y"));
	cr_expect(!parse_line(&a, "--on=false --on=true --no-op", &err));
	cr_assert(got.on, "a name may begin with no-");
	cr_expect(got.no_op, "a name may begin with no-");
	cr_assert(!parse_line(&a, "--no-no-op", &err));
	cr_expect(!got.no_op);
	cr_assert(!parse_line(&a, "--output=", &err));
	cr_expect(!strcmp(got.text, ""));
	cr_assert(!parse_line(&a, "--output=a=b", &err));
	cr_expect(!strcmp(got.text, "a=b"));
	cr_assert(!parse_line(&a, "--max-count=1 --max-count=2", &err),
		  "the last one counts");
	cr_expect(got.number == 2, "the last one counts");
	cr_assert(!parse_line(&a, "--output --help", &err),
		  "a value may look like a flag");
	cr_assert(!a.help, "a value may look like a flag");
	cr_expect(!strcmp(got.text, "--help"), "a value may look like a flag");
	cr_assert(!parse_line(&a, "--from -1h -o -", &err));
	cr_assert(!strcmp(got.time, "-1h"));
	cr_expect(!strcmp(got.text, "-"));
	cr_assert(!parse_line(&a, "--max-count=9223372036854775807", &err));
	cr_expect(got.number == INT64_MAX);
}

Test(flags, positional_arguments_are_moved_to_the_front)
{
	static const struct {
		const char *line;
		const char *kept[4];
		bool help;
	} cases[] = {
		{ "", { NULL }, false },
		{ "a b", { "a", "b" }, false },
		{ "a --on b --output x c", { "a", "b", "c" }, false },
		{ "--on true", { "true" }, false },
		{ "- a", { "-", "a" }, false },
		{ "-- --on -x -h", { "--on", "-x", "-h" }, false },
		{ "a -- --", { "a", "--" }, false },
		{ "a --help", { "a" }, true },
		{ "-h", { NULL }, true },
		{ "--on -- --help", { "--help" }, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct arguments a;
		struct err err;
		int n = 0;

		reset();
		cr_assert(!parse_line(&a, cases[i].line, &err), "%s: %s",
			  cases[i].line, err.msg);
		for (; n < 4 && cases[i].kept[n]; n++) {
			cr_assert(n < a.count, "%s", cases[i].line);
			cr_expect(!strcmp(a.v[n], cases[i].kept[n]), "%s",
				  cases[i].line);
		}
		cr_assert(a.count == n, "%s", cases[i].line);
		cr_expect(a.help == cases[i].help, "%s", cases[i].line);
		cr_expect(!a.v[n], "%s: a NULL ends the arguments, not %s",
			  cases[i].line, a.v[n]);
	}
}

Test(flags, mistakes_name_the_flag)
{
	static const struct {
		const char *line;
		const char *parts[2];
	} cases[] = {
		{ "--max-count=-1", { "--max-count", "\"-1\"" } },
		{ "--max-count=1.5", { "--max-count", "\"1.5\"" } },
		{ "--max-count=", { "--max-count" } },
		{ "--max-count=9223372036854775808", { "--max-count" } },
		{ "--max-count=1k", { "--max-count" } },
		{ "--query.timeout=5", { "--query.timeout", "\"5\"" } },
		{ "--query.timeout=1m1h", { "--query.timeout" } },
		{ "--size=much", { "--size", "\"much\"" } },
		{ "--from=yesterday", { "--from", "\"yesterday\"" } },
		{ "--from=", { "--from" } },
		{ "--on=yes", { "--on", "\"yes\"" } },
		{ "--on=", { "--on" } },
		{ "--output", { "--output needs a value" } },
		{ "a --max-count", { "--max-count needs a value" } },
		{ "-o", { "--output needs a value" } },
		{ "--none", { "--none" } },
		{ "--none=5", { "--none" } },
		{ "--no-output", { "--no-output" } },
		{ "--no-on=true", { "--no-on" } },
		{ "--=x", { "unknown" } },
		{ "-x", { "-x" } },
		{ "-ox", { "-ox" } },
		{ "-1h", { "-1h" } },
		{ "--ouput=x", { "--ouput", "--output" } },
		{ "--query-timeout=1s",
		  { "--query-timeout", "--query.timeout" } },
		{ "--max_count=1", { "--max_count", "--max-count" } },
		{ "--max=1", { "--max", "--max-count" } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct arguments a;
		struct err err = { .msg = "accepted" };

		reset();
		cr_expect(parse_line(&a, cases[i].line, &err) == ERR_INVALID,
			  "%s", cases[i].line);
		for (size_t k = 0; k < 2 && cases[i].parts[k]; k++)
			cr_expect(strstr(err.msg, cases[i].parts[k]) != NULL,
				  "%s: %s", cases[i].line, err.msg);
	}
}

Test(flags, help_shows_name_default_and_text)
{
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);

	flags_help(out, list);
	fclose(out);
	cr_expect(strstr(text,
			 "  --output=…  (default: a.txt)\n      Where to.\n"));
	cr_expect(strstr(text, "  --from=…\n      Since when.\n"));
	cr_expect(strstr(text, "  --[no-]on  (default: no)\n      Whether.\n"));
	free(text);
}

Test(flags, values_are_written_as_they_may_be_typed)
{
	static const char *const want[] = { "x",    "now",  "7",    "1m30s",
					    "1024", "true", "false" };
	char text[64];

	reset();
	got.text = "x";
	got.time = "now";
	got.on = true;
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		flag_format(&list[i], text, sizeof(text));
		cr_expect(check_str(str_of(text), want[i]));
	}
	got.text = NULL;
	flag_format(&list[0], text, sizeof(text));
	cr_expect(check_str(str_of(text), ""));
	got.text = "longer than the room";
	flag_format(&list[0], text, 5);
	cr_expect(check_str(str_of(text), "long"));
}

Test(flags, the_name_that_was_meant_is_found)
{
	static const char *const names[] = { "output", "max-count",
					     "query.timeout", "query.memory",
					     "on" };
	static const struct {
		const char *typed;
		const char *want; /* NULL: nothing is similar */
	} cases[] = {
		{ "output", "output" },
		{ "ouptut", "output" },
		{ "outptt", "output" },
		{ "out", "output" },
		{ "ou", NULL },
		{ "tuptuo", NULL },
		{ "query_timeout", "query.timeout" },
		{ "query-memory", "query.memory" },
		{ "query.", "query.timeout" },
		{ "query.memori", "query.memory" },
		{ "maxcount", "max-count" },
		{ "no", NULL },
		{ "om", NULL },
		{ "", NULL },
		{ "something.else", NULL },
	};
	char wide[66];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct suggestion s = { 0 };

		for (size_t k = 0; k < ARRAY_SIZE(names); k++)
			suggest_nearest(&s, str_of(cases[i].typed), names[k]);
		cr_expect(check_str(str_of(s.best ? s.best : "none"),
				    cases[i].want ? cases[i].want : "none"));
	}
	memset(wide, 'x', sizeof(wide));
	wide[65] = 0;
	struct suggestion s = { 0 };

	suggest_nearest(&s, str_of(wide), wide);
	cr_expect(!s.best, "65 bytes are too many");
	suggest_nearest(&s, str_of(wide + 1), wide + 1);
	cr_expect(s.best == wide + 1, "64 are not");
}

/* The text that --help shows. */
static const struct usage *shown;

static void note_help(const struct usage *u, const struct flag *flags)
{
	shown = u;
	(void)flags;
}

Test(flags, commands_bound_their_arguments)
{
	static const struct usage one = { "test FILE", "Tests.", 1, 1 };
	static const struct {
		const char *words[4];
		int code; /* -1: the command goes on */
	} cases[] = {
		{ { "a" }, -1 },           { { "--on", "a" }, -1 },
		{ { NULL }, 2 },           { { "a", "b" }, 2 },
		{ { "--none", "a" }, 2 },  { { "--help" }, 0 },
		{ { "a", "b", "-h" }, 0 }, { { "--on=5", "--help" }, 2 },
	};
	struct err err;

	cmd_help_with(note_help);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char words[4][16];
		char *argv[5] = { NULL };
		int argc = 0;

		for (; argc < 4 && cases[i].words[argc]; argc++) {
			snprintf(words[argc], sizeof(words[0]), "%s",
				 cases[i].words[argc]);
			argv[argc] = words[argc];
		}
		shown = NULL;
		cr_expect(cmd_begin(&one, list, &argc, argv) == cases[i].code,
			  "case %zu", i);
		cr_expect((shown == &one) == (cases[i].code == 0), "case %zu",
			  i);
		cr_expect(cases[i].code != -1 ||
			  (argc == 1 && !strcmp(argv[0], "a")));
	}
	err_set(&err, ERR_IO, "x");
	cr_expect(cmd_fail(&err) == 1);
	cr_expect(!cmd_check_owner("/no/such/folder", &err));
	cr_expect(!cmd_check_owner("/proc/self", &err), "our own");
}

/* The volume of a Kubernetes pod belongs to root, but its files do not. */
Test(flags, the_owner_of_a_data_directory_is_that_of_its_lock)
{
	char dir[] = "/tmp/everprof-owner-XXXXXX";
	CLEANUP(mem_freep) char *lock = NULL;
	struct err err;

	if (geteuid())
		cr_skip("changing owners needs root");
	cr_assert(mkdtemp(dir));
	lock = mem_printf("%s/lock", dir);
	cr_assert(!chown(dir, 10902, 0));
	cr_expect(cmd_check_owner(dir, &err) == ERR_DENIED);
	cr_expect(strstr(err.msg, "--reuid=10902"), "%s", err.msg);
	close(open(lock, O_CREAT | O_WRONLY, 0640));
	cr_expect(!cmd_check_owner(dir, &err), "the lock is ours");
	cr_assert(!chown(dir, 0, 0));
	cr_assert(!chown(lock, 10902, 0));
	cr_expect(cmd_check_owner(dir, &err) == ERR_DENIED);
	unlink(lock);
	rmdir(dir);
}
