/* SPDX-License-Identifier: Apache-2.0 */
/*
 * everprof check config, web-config and selector: the checks that `everprof
 * serve` does at startup, without starting the server.
 */
#include <string.h>

#include "base/file_slurp.h"
#include "client/transfer/http_config.h"
#include "cmd/cli/cmd.h"
#include "cmd/cli/console.h"
#include "cmd/serve/config.h"
#include "discovery/discovery_config.h"
#include "model/selector.h"
#include "web/auth/web_config.h"

/* A section of a configuration, while the files that it names are tried. */
struct examined {
	const char *path;             /* of the configuration */
	const struct yaml_node *node; /* NULL: the position is not known */
};

/*
 * The value below `n` that names a file which occurs in the message, or NULL.
 * `is_file`: n is the value of a key such as password_file, or files. The depth
 * of the recursion is bounded by YAML_DEPTH_MAX.
 */
/* NOLINTNEXTLINE(misc-no-recursion): see above */
static const struct yaml_node *
check_find_file(const struct yaml_node *n, bool is_file, const char *message)
{
	const struct yaml_node *found = NULL;
	bool map = n->kind == YAML_MAP;

	if (n->kind == YAML_SCALAR)
		return is_file && n->text.len && strstr(message, n->text.ptr) ?
			       n :
			       NULL;
	for (size_t i = map; i < n->count && !found; i += map ? 2 : 1) {
		bool file =
			map ? str_ends(n->items[i - 1]->text, "_file") ||
					str_is(n->items[i - 1]->text, "files") :
			      is_file;

		found = check_find_file(n->items[i], file, message);
	}
	return found;
}

/* Print a warning about a file that a section of the configuration names. */
static void check_warn(void *ctx, const char *text)
{
	const struct examined *x = ctx;
	const struct yaml_node *n =
		x->node ? check_find_file(x->node, false, text) : NULL;

	n = n ? n : x->node;
	if (n)
		console_line(stderr, "%s:%u:%u: warning: %s", x->path, n->line,
			     n->column, text);
	else
		console_line(stderr, "%s: warning: %s", x->path, text);
}

/* Warn about a file that options of HTTP name and that cannot be read. */
static void check_http(struct examined *x, const char *what, struct str name,
		       const struct http_options *o)
{
	struct err err;
	int rc = http_config_try(o, &err);

	if (!rc)
		return;
	(void)err_wrap(&err, rc, "%s %.*s", what, STR_ARG(name));
	check_warn(x, err.msg);
}

/* The entry number `i` of a section that is a list; NULL if there is none. */
static const struct yaml_node *check_entry(const struct config *c,
					   const char *section, size_t i)
{
	const struct yaml_node *list = yaml_child(c->yaml.root, section);

	return list && list->kind == YAML_LIST && i < list->count ?
		       list->items[i] :
		       NULL;
}

/*
 * Warn about certificates, passwords and target files that cannot be read. The
 * server starts without these files and only some targets fail, so these are
 * not errors (docs/decisions.md, 61).
 */
static void check_files(const char *path, const struct config *c)
{
	struct examined x = { .path = path };

	for (size_t i = 0; i < c->scrape.count; i++) {
		const struct scrape_config *job = &c->scrape.v[i];

		x.node = check_entry(c, "scrape_configs", i);
		check_http(&x, "job", job->job_name, &job->http);
		discovery_configs_examine(&job->discovery, check_warn, &x);
	}
	x.node = c->ebpf.section;
	discovery_configs_examine(&c->ebpf.containers, check_warn, &x);
	for (size_t i = 0; i < c->remote_write.count; i++) {
		x.node = check_entry(c, "remote_write", i);
		check_http(&x, "remote_write", c->remote_write.v[i].name,
			   &c->remote_write.v[i].http);
	}
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
