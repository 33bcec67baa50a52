/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/cmd.h"

#include "cmd/version.h"

int cmd_begin(const struct usage *u, const struct flag *flags, int *argc,
	      char **argv)
{
	struct err err;
	bool help;

	if (flags_parse(flags, argc, argv, &help, &err)) {
		fprintf(stderr, "everprof: %s\nusage: everprof %s\n", err.msg,
			u->line);
		return 2;
	}
	if (help) {
		printf("usage: everprof %s\n\n%s\n\n", u->line, u->text);
		flags_help(stdout, flags);
		return 0;
	}
	if (*argc < u->min || *argc > u->max) {
		fprintf(stderr, "usage: everprof %s   (see --help)\n", u->line);
		return 2;
	}
	return -1;
}

int cmd_fail(const struct err *err)
{
	fprintf(stderr, "everprof: %s\n", err->msg);
	return 1;
}

int cmd_version(int argc UNUSED, char **argv UNUSED)
{
	printf("everprof %s\n", EVERPROF_VERSION);
	return 0;
}
