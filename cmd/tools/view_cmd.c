/* SPDX-License-Identifier: Apache-2.0 */
/*
 * everprof view: shows files with profiles in the web UI of a running server, or of one
 * that lives as long as the command.
 */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/env.h"
#include "base/file_slurp.h"
#include "base/mem.h"
#include "base/units.h"
#include "cmd/cli/api_client.h"
#include "cmd/cli/cmd.h"
#include "cmd/cli/console.h"
#include "cmd/tools/view_server.h"

extern char **environ;

enum {
	VIEW_FILES_MAX = 2
};

/* The largest value of --max-file-size. */
#define VIEW_SIZE_MAX (1023 * MIB)

/* The flags, and what was uploaded. */
struct viewing {
	struct query flags; /* server and HTTP options */
	const char *symbols_path;
	const char *source_path;
	int64_t max_profile;
	bool browser;
	char ids[VIEW_FILES_MAX][40];
	size_t count;
	struct view_server server;
	pid_t opener; /* which opens the browser; 0: none */
};

/* Read a file or pipe; - is standard input. */
static int view_read(const struct viewing *v, const char *path, struct buf *out,
		     struct err *err)
{
	*out = buf_init((size_t)v->max_profile);
	return file_drain(!strcmp(path, "-") ? "/dev/stdin" : path, out, err);
}

/* Upload a file, and note its id. */
static int view_send(struct viewing *v, const char *path, struct bytes body,
		     struct err *err)
{
	struct query q = v->flags;
	bool is_stdin = !strcmp(path, "-");
	const char *slash = strrchr(path, '/');
	json_t *root = NULL;
	json_t *data = NULL;
	int rc;

	q.url = (struct buf){ 0 };
	q.post = true;
	q.body = body;
	query_path(&q, "/api/v1/adhoc");
	query_param(&q, "name",
		    is_stdin ? "standard input" :
		    slash    ? slash + 1 :
			       path);
	rc = query_ask(&q, &root, &data, err);
	if (!rc)
		(void)snprintf(v->ids[v->count++], sizeof(v->ids[0]), "%s",
			       json_string_value(json_object_get(data, "id")) ?:
				       "");
	json_decref(root);
	buf_fini(&q.url);
	return rc ? err_wrap(err, rc, "%s", path) : 0;
}

/* Return the address of the page; of two files, the first one is the base. */
static char *view_address(struct viewing *v)
{
	struct query q = v->flags;
	char *url;

	q.url = (struct buf){ 0 };
	query_path(&q, "/adhoc");
	query_param(&q, "adhoc_a", v->count > 1 ? v->ids[0] : "");
	query_param(&q, v->count > 1 ? "adhoc_b" : "adhoc",
		    v->ids[v->count - 1]);
	url = mem_strdup(buf_cstr(&q.url));
	buf_fini(&q.url);
	return url;
}

/* Open the page in the browser of the desktop, if there is one. */
static void view_open(struct viewing *v, char *url)
{
	char *argv[] = { (char[]){ "xdg-open" }, url, NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none;

	if (!v->browser ||
	    (!env_find("DISPLAY") && !env_find("WAYLAND_DISPLAY")))
		return;
	sigemptyset(&none);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null",
					 O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null",
					 O_WRONLY, 0);
	/* Without it, people open the address themselves. */
	if (posix_spawnp(&v->opener, argv[0], &files, &attributes, argv,
			 environ))
		v->opener = 0;
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);
}

/* Wait until a signal ends the command; ERR_CLOSED: the server has ended before. */
static int view_wait(struct viewing *v, const sigset_t *set, struct err *err)
{
	int number = 0;

	for (;;) {
		if (sigwait(set, &number))
			continue;
		if (number != SIGCHLD)
			return 0;
		if (view_server_has_ended(&v->server))
			return err_set(
				err, ERR_CLOSED,
				"the server that \"everprof view\" started has ended");
		if (v->opener && waitpid(v->opener, NULL, WNOHANG))
			v->opener = 0;
	}
}

/* Start a server, unless there is one. */
static int view_begin(struct viewing *v, sigset_t *set, struct err *err)
{
	const struct view_server_options o = { .symbols_path = v->symbols_path,
					       .source_path = v->source_path,
					       .max_profile = v->max_profile };
	int rc;

	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGCHLD);
	if (*v->flags.server)
		return 0;
	if (v->flags.http_config && *v->flags.http_config)
		return err_set(err, ERR_INVALID,
			       "--http.config.file needs --server");
	pthread_sigmask(SIG_BLOCK, set, NULL);
	rc = view_server_start(&v->server, &o, err);
	v->flags.server = v->server.url;
	return rc;
}

/* Upload the files, show the page, and wait if the server is ours. */
static int view_show(struct viewing *v, int argc, char **argv,
		     const struct buf *bodies, struct err *err)
{
	bool is_ours = !*v->flags.server;
	sigset_t set;
	char *url;
	int rc = view_begin(v, &set, err);

	for (int i = 0; !rc && i < argc; i++)
		rc = view_send(v, argv[i], buf_bytes(&bodies[i]), err);
	if (rc)
		return rc;
	url = view_address(v);
	console_line(stdout, "%s", url);
	fflush(stdout);
	view_open(v, url);
	mem_free(url);
	if (!is_ours)
		return 0;
	console_say("Press Ctrl-C to end.");
	return view_wait(v, &set, err);
}

static int view_run(struct viewing *v, int argc, char **argv, struct err *err)
{
	struct buf bodies[VIEW_FILES_MAX] = { { 0 }, { 0 } };
	int rc = 0;

	if (v->max_profile < KIB || v->max_profile > VIEW_SIZE_MAX)
		return err_set(
			err, ERR_INVALID,
			"--max-file-size must be between 1KB and 1023MB");
	/* Before signals are blocked: a pipe may have no writer. */
	for (int i = 0; !rc && i < argc; i++)
		rc = view_read(v, argv[i], &bodies[i], err);
	if (!rc)
		rc = view_show(v, argc, argv, bodies, err);
	for (int i = 0; i < VIEW_FILES_MAX; i++)
		buf_fini(&bodies[i]);
	return rc;
}

int cmd_view(int argc, char **argv)
{
	struct viewing v = { .flags = query_init() };
	const struct flag flags[] = {
		{ "server", FLAG_TEXT, &v.flags.server, NULL,
		  "Address of the server whose page shows the files; by default, a server on this machine is started for the time of the command." },
		{ "http.config.file", FLAG_TEXT, &v.flags.http_config, NULL,
		  "File with options of the HTTP client: basic_auth, authorization, tls_config …" },
		{ "timeout", FLAG_DURATION, &v.flags.timeout_ms, "60s",
		  "Maximum time to wait for the response." },
		{ "browser", FLAG_BOOL, &v.browser, "yes",
		  "Open the page in the browser of the desktop, if there is one." },
		{ "max-file-size", FLAG_SIZE, &v.max_profile, "256MB",
		  "Maximum size of a file, and of a profile in it." },
		{ "symbols.path", FLAG_TEXT, &v.symbols_path, SYMBOLS_PATH,
		  "Folder with separate debug files by build ID, to name addresses; without --server." },
		{ "source_path", FLAG_TEXT, &v.source_path, NULL,
		  "Folder with source files, for the view Source; without --server." },
		{ 0 },
	};
	static const struct usage u = {
		"view FILE [FILE] [FLAGS]",
		"Show a file with profiles in the web UI, or compare two, of which the first is the\n"
		"base: pprof, Java Flight Recorder, the text of perf script, or folded stacks; - is\n"
		"standard input, as in perf script | everprof view -. The address of the page is\n"
		"printed. Files that a server gets are removed after its --adhoc.ttl.",
		1, VIEW_FILES_MAX
	};
	struct err err;
	int code;
	int rc;

	flags_set_defaults(flags);
	v.flags.server = "";
	code = cmd_begin(&u, flags, &argc, argv);
	if (code >= 0)
		return code;
	rc = view_run(&v, argc, argv, &err);
	view_server_stop(&v.server);
	query_fini(&v.flags);
	return rc ? cmd_fail(&err) : 0;
}
