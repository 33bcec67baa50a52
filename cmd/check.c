/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/cmd.h"
#include "cmd/config.h"
#include "model/selector.h"

static int check_one(const char *path)
{
	struct config c;
	struct err err;
	int rc = config_load(&c, path, &err);

	config_report(&c);
	if (rc && !c.yaml.error_count)
		fprintf(stderr, "%s: %s\n", path, err.msg);
	if (!rc)
		printf("%s: %zu jobs, no errors\n", path, c.scrape.count);
	config_fini(&c);
	return rc ? 1 : 0;
}

int cmd_check_config(int argc, char **argv)
{
	static const struct flag none[] = { { 0 } };
	static const struct usage u = {
		"check config FILE…",
		"Prints every error as file:line:col: message, and warnings. "
		"Exit code 1 when there\nare errors.",
		1, 1000
	};
	int code = cmd_begin(&u, none, &argc, argv);

	if (code >= 0)
		return code;
	code = 0;
	for (int i = 0; i < argc; i++)
		code |= check_one(argv[i]);
	return code;
}

int cmd_check_selector(int argc, char **argv)
{
	static const struct flag none[] = { { 0 } };
	static const struct usage u = {
		"check selector [--] 'SELECTOR'",
		"A selector is like PromQL's: heap{job=\"app\",env=~\"x|y\"}. "
		"Exit code 1, with the\nposition, when it is none.",
		1, 1
	};
	struct selector s;
	struct err err;
	int code = cmd_begin(&u, none, &argc, argv);

	if (code >= 0)
		return code;
	if (selector_parse(str_of(argv[0]), &s, &err))
		return cmd_fail(&err);
	selector_fini(&s);
	return 0;
}
