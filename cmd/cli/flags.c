/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing, help and formatting of command-line flags. */
#include "cmd/cli/flags.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/suggest.h"
#include "base/units.h"

/* The flag with this name (without dashes), or NULL. */
static const struct flag *flags_find(const struct flag *flags, struct str name)
{
	for (; flags->name; flags++) {
		if (str_is(name, flags->name))
			return flags;
	}
	return NULL;
}

/* Short names, which mean the same in all commands that have the flag. */
static struct short_flag {
	char name[3];
	char text[16];
} short_flags[] = {
	{ "-o", "--output" },
	{ "-p", "--pid" },
	{ "-F", "--frequency" },
	{ "-d", "--duration" },
};

/*
 * The long form of a short flag, or NULL if the command does not have the flag.
 */
static char *flags_find_short(const struct flag *flags, const char *arg)
{
	for (size_t i = 0; i < ARRAY_SIZE(short_flags); i++) {
		if (!strcmp(arg, short_flags[i].name) &&
		    flags_find(flags, str_of(short_flags[i].text + 2)))
			return short_flags[i].text;
	}
	return NULL;
}

/*
 * Times are sent to the server as typed; they are parsed here only so that a
 * mistake is reported with the name of the flag.
 */
static int check_time(struct str value, struct err *err)
{
	int64_t ms;

	return str_to_i64(value, &ms) ?
		       0 :
		       time_parse(value, clock_ms(NULL), &ms, err);
}

/* Add a value to those of a flag that can be given several times. */
static int flags_add_text(struct flag_texts *texts, struct str value,
			  struct err *err)
{
	if (texts->count == FLAG_TEXTS_MAX)
		return err_set(err, ERR_INVALID, "given more than %d times",
			       FLAG_TEXTS_MAX);
	texts->v[texts->count++] = value.ptr;
	return 0;
}

/* Parse a value according to the kind of the flag, and store it. */
static int set_value(const struct flag *f, struct str value, struct err *err)
{
	int rc = 0;

	switch (f->kind) {
	case FLAG_TIME:
		rc = check_time(value, err);
		*(const char **)f->out = value.ptr;
		break;
	case FLAG_TEXT:
		*(const char **)f->out = value.ptr;
		break;
	case FLAG_TEXTS:
		rc = flags_add_text(f->out, value, err);
		break;
	case FLAG_BOOL:
		if (str_is(value, "true") || str_is(value, "false"))
			*(bool *)f->out = str_is(value, "true");
		else
			rc = err_set(err, ERR_INVALID,
				     "expected true or false, not \"%.*s\"",
				     STR_ARG(value));
		break;
	case FLAG_INT:
		if (!str_to_i64(value, f->out) || *(int64_t *)f->out < 0)
			rc = err_set(
				err, ERR_INVALID,
				"expected a whole number of at least 0, not \"%.*s\"",
				STR_ARG(value));
		break;
	case FLAG_DURATION:
		rc = duration_parse(value, f->out, err);
		break;
	case FLAG_SIZE:
		rc = size_parse(value, f->out, err);
		break;
	}
	return rc ? err_wrap(err, rc, "--%s", f->name) : 0;
}

/* The boolean flag that --no-name negates, or NULL. */
static const struct flag *find_negated(const struct flag *flags,
				       struct str name)
{
	const struct flag *f;

	if (!str_starts(name, str_of("no-")))
		return NULL;
	name.ptr += 3;
	name.len -= 3;
	f = flags_find(flags, name);
	return f && f->kind == FLAG_BOOL ? f : NULL;
}

/* Names that flags have in other programs, such as pprof and perf. */
static const struct flag_synonym {
	const char *theirs;
	const char *ours;
} flag_synonyms[] = {
	{ "top", "nodecount" },
	{ "limit", "nodecount" },
	{ "start", "from" },
	{ "since", "from" },
	{ "end", "to" },
	{ "until", "to" },
	{ "seconds", "duration" },
	{ "freq", "frequency" },
	{ "url", "server" },
	{ "host", "server" },
	{ "addr", "server" },
	{ "port", "web.listen-address" },
	{ "listen", "web.listen-address" },
};

/* The flag that a name of another program means, or NULL. */
static const char *flags_find_synonym(const struct flag *flags, struct str name)
{
	for (size_t i = 0; i < ARRAY_SIZE(flag_synonyms); i++) {
		const struct flag_synonym *s = &flag_synonyms[i];

		if (str_is(name, s->theirs) &&
		    flags_find(flags, str_of(s->ours)))
			return s->ours;
	}
	return NULL;
}

/*
 * Report an unknown flag as ERR_INVALID, with the flag that was probably meant
 * if there is one.
 */
static int unknown_flag(const struct flag *flags, struct str name,
			struct err *err)
{
	struct suggestion s = { .best = flags_find_synonym(flags, name) };

	for (const struct flag *f = flags; f->name; f++)
		suggest_nearest(&s, name, f->name);
	return err_set(err, ERR_INVALID,
		       "unknown flag --%.*s%s%s%s (see --help)", STR_ARG(name),
		       s.best ? ": did you mean --" : "", s.best ? s.best : "",
		       s.best ? "?" : "");
}

/*
 * Parse the flag at argv[*i]. If its value is the next argument, *i is advanced
 * to that argument.
 */
static int parse_one(const struct flag *flags, int argc, char **argv, int *i,
		     struct err *err)
{
	struct str text = str_of(argv[*i] + 2);
	bool has_value = strchr(text.ptr, '=');
	struct str value;
	struct str name = str_cut(text, '=', &value);
	const struct flag *f = flags_find(flags, name);

	if (!f && !has_value) {
		f = find_negated(flags, name);
		if (f) {
			*(bool *)f->out = false;
			return 0;
		}
	}
	if (!f)
		return unknown_flag(flags, name, err);
	if (has_value)
		return set_value(f, value, err);
	if (f->kind == FLAG_BOOL) {
		*(bool *)f->out = true;
		return 0;
	}
	if (*i + 1 == argc)
		return err_set(err, ERR_INVALID, "--%s needs a value", f->name);
	return set_value(f, str_of(argv[++*i]), err);
}

void flags_set_defaults(const struct flag *flags)
{
	for (; flags->name; flags++) {
		if (!flags->fallback)
			continue;
		if (flags->kind == FLAG_BOOL) {
			*(bool *)flags->out |= !strcmp(flags->fallback, "yes");
			continue;
		}
		/*
		 * A default that does not parse is a mistake in the table of
		 * flags.
		 */
		if (set_value(flags, str_of(flags->fallback), NULL))
			abort();
	}
}

/*
 * Positional arguments are moved to the front of `argv`. `kept` counts them and
 * is never greater than `i`, so no argument is overwritten before it is read.
 */
int flags_parse(const struct flag *flags, int *argc, char **argv, bool *help,
		struct err *err)
{
	int kept = 0;
	bool only_positional = false;

	*help = false;
	for (int i = 0; i < *argc; i++) {
		int rc;

		if (!only_positional && !strcmp(argv[i], "--")) {
			only_positional = true;
		} else if (!only_positional && (!strcmp(argv[i], "--help") ||
						!strcmp(argv[i], "-h"))) {
			*help = true;
		} else if (!only_positional &&
			   flags_find_short(flags, argv[i])) {
			/* Parse it again as the flag for which it is short. */
			argv[i] = flags_find_short(flags, argv[i]);
			i--;
		} else if (!only_positional && !strncmp(argv[i], "--", 2)) {
			rc = parse_one(flags, *argc, argv, &i, err);
			if (rc)
				return rc;
		} else if (!only_positional && argv[i][0] == '-' &&
			   argv[i][1]) {
			return err_set(err, ERR_INVALID,
				       "unknown flag %s (see --help)", argv[i]);
		} else {
			argv[kept++] = argv[i];
		}
	}
	*argc = kept;
	/* A command that is executed takes its arguments up to the NULL. */
	argv[kept] = NULL;
	return 0;
}

/* Booleans are shown as --[no-]name, other flags as --name=…. */
void flags_help(FILE *out, const struct flag *flags)
{
	fprintf(out, "Flags:\n");
	for (; flags->name; flags++) {
		const char *no = flags->kind == FLAG_BOOL ? "[no-]" : "";
		const char *value = flags->kind == FLAG_BOOL ? "" : "=…";

		fprintf(out, "  --%s%s%s", no, flags->name, value);
		if (flags->fallback)
			fprintf(out, "  (default: %s)", flags->fallback);
		fprintf(out, "\n      %s\n", flags->help);
	}
}

/* Sizes are shown in bytes, as the API reports them. */
void flag_format(const struct flag *f, char *out, size_t n)
{
	char text[32];

	switch (f->kind) {
	case FLAG_TEXT:
	case FLAG_TIME:
		snprintf(out, n, "%s", *(const char **)f->out ?: "");
		break;
	case FLAG_TEXTS:
		snprintf(out, n, "%zu values",
			 ((const struct flag_texts *)f->out)->count);
		break;
	case FLAG_BOOL:
		snprintf(out, n, "%s", *(bool *)f->out ? "true" : "false");
		break;
	case FLAG_DURATION:
		duration_format(*(int64_t *)f->out, text);
		snprintf(out, n, "%s", text);
		break;
	default:
		snprintf(out, n, "%" PRId64, *(int64_t *)f->out);
		break;
	}
}
