/* SPDX-License-Identifier: Apache-2.0 */
/*
 * everprof check config, web-config and selector: the checks that `everprof
 * serve` does at startup, without starting the server.
 */
#include "base/file_slurp.h"
#include "client/http_config.h"
#include "cmd/cmd.h"
#include "cmd/config.h"
#include "cmd/console.h"
#include "discovery/discovery_config.h"
#include "model/selector.h"
#include "web/web_config.h"

/* Print a warning about a file that the configuration names. */
static void check_warn(void *path, const char *text)
{
	console_line(stderr, "%s: warning: %s", (const char *)path, text);
}

/* Warn about a file that options of HTTP name and that cannot be read. */
static void check_http(const char *path, const char *what, struct str name,
		       const struct http_options *o)
{
	struct err err;

	if (http_config_try(o, &err))
		console_line(stderr, "%s: warning: %s %.*s: %s", path, what,
			     STR_ARG(name), err.msg);
}

/*
 * Warn about certificates, passwords and target files that cannot be read. The
 * server starts without these files and only some targets fail, so these are
 * not errors (docs/decisions.md, 61).
 */
static void check_files(char *path, const struct config *c)
{
	for (size_t i = 0; i < c->scrape.count; i++) {
		const struct scrape_config *job = &c->scrape.v[i];

		check_http(path, "job", job->job_name, &job->http);
		discovery_configs_examine(&job->discovery, check_warn, path);
	}
	discovery_configs_examine(&c->ebpf.containers, check_warn, path);
	for (size_t i = 0; i < c->remote_write.count; i++)
		check_http(path, "remote_write", c->remote_write.v[i].name,
			   &c->remote_write.v[i].http);
}

/* Check one configuration file; returns the exit code. */
static int check_check_one(char *path)
{
	struct config c;
	struct err err;
	int rc = config_drain(&c, path, &err);

	config_report(&c);
	if (rc && !c.yaml.error_count)
		console_line(stderr, "%s: %s", path, err.msg);
	if (!rc)
		check_files(path, &c);
	if (!rc)
		console_line(stdout, "%s: %zu jobs, no errors", path,
			     c.scrape.count);
	config_fini(&c);
	return rc ? 1 : 0;
}

/*
 * Check one file for --web.config.file; returns the exit code. The text may
 * contain secrets, so it is wiped.
 */
static int check_web(char *path)
{
	struct buf text = buf_init(MIB);
	struct web_config c = { 0 };
	struct err err;
	int rc = file_drain(path, &text, &err);

	if (!rc)
		rc = web_config_parse(&c, path, buf_bytes(&text), &err);
	if (c.yaml.errors.len)
		console_lines(stderr, str_from(buf_bytes(&c.yaml.errors)));
	else if (rc)
		console_line(stderr, "%s: %s", path, err.msg);
	if (!rc)
		console_line(stdout, "%s: %zu users, %zu tokens, %s, no errors",
			     path, c.user_count, c.token_count,
			     c.tls.cert.len ? "TLS" : "no TLS");
	web_config_fini(&c);
	buf_forget(&text);
	return rc ? 1 : 0;
}

/* Run a check on each argument of a command. Returns the exit code. */
static int check_all(const struct usage *u, int argc, char **argv,
		     int (*check)(char *path))
{
	static const struct flag none[] = { { 0 } };
	int code = cmd_begin(u, none, &argc, argv);

	if (code >= 0)
		return code;
	code = 0;
	for (int i = 0; i < argc; i++)
		code |= check(argv[i]);
	return code;
}

int cmd_check_config(int argc, char **argv)
{
	static const struct usage u = {
		"check config FILE…",
		"Check configuration files and the files that they name. Print every error and warning,\n"
		"as file:line:column: message. Exit with 1 when there are errors.",
		1, 1000
	};

	return check_all(&u, argc, argv, check_check_one);
}

int cmd_check_web_config(int argc, char **argv)
{
	static const struct usage u = {
		"check web-config FILE…",
		"Check files for --web.config.file, and the certificates and tokens that they name.\n"
		"Exit with 1 when there are errors.",
		1, 1000
	};

	return check_all(&u, argc, argv, check_web);
}

int cmd_check_selector(int argc, char **argv)
{
	static const struct flag none[] = { { 0 } };
	static const struct usage u = {
		"check selector [--] 'SELECTOR'",
		"Check the syntax of a selector, such as heap{job=\"app\",env=~\"x|y\"}. Selectors are\n"
		"those of PromQL. Exit with 1 and print the position of the error if it is invalid.",
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
