/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/kubernetes/exec_plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/vec.h"
#include "base/yaml_json.h"
#include "discovery/rest/document.h"

#define OUTPUT_MAX_MIB 1   /* limit of what a plugin prints */
#define KILL_MS        200 /* how long plugin_reap() waits for the plugin */
/* no plugin is started while this many killed plugins are still running */
#define UNKILLABLE_MAX 8

/* A plugin that is running. */
struct exec_plugin {
	struct http_client *client;
	exec_plugin_fn done;
	void *ctx;
	char *command;
	char *api_version;
	pid_t pid;
	/* pidfd of the plugin: readable when the plugin has ended; -1: none */
	int process;
	int pipe; /* read end of the plugin's standard output; -1: none */
	struct buf output;
	int64_t deadline_ns;
};

/*
 * Return whether one of the `count` texts in `v` sets the same environment
 * variable as `entry`. All texts have the form "NAME=value".
 */
static bool env_has(char *const *v, size_t count, const char *entry)
{
	size_t len = strcspn(entry, "=") + 1;

	for (size_t i = 0; i < count; i++) {
		if (!strncmp(v[i], entry, len))
			return true;
	}
	return false;
}

/*
 * Start the program in a process group of its own; `output` becomes its
 * standard output.
 */
static int plugin_spawn(struct exec_plugin *x,
			const struct exec_plugin_config *c, int output,
			struct err *err)
{
	posix_spawn_file_actions_t actions;
	VEC(char *) env = { 0 };
	posix_spawnattr_t attr;
	sigset_t none;
	sigset_t usual;
	struct err why;
	int rc;

	for (size_t i = 0; c->env[i]; i++)
		*vec_add(&env) = c->env[i];
	for (size_t i = 0; environ[i]; i++) {
		if (!env_has(env.v, env.count, environ[i]))
			*vec_add(&env) = environ[i];
	}
	*vec_add(&env) = NULL;
	sigemptyset(&none);
	sigemptyset(&usual);
	sigaddset(&usual, SIGPIPE);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP |
						POSIX_SPAWN_SETSIGMASK |
						POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &usual);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, output, 1);
	posix_spawn_file_actions_addclosefrom_np(&actions, 3);
	rc = posix_spawnp(&x->pid, c->command, &actions, &attr, c->args, env.v);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	vec_fini(&env);
	errno = rc;
	if (!rc)
		return 0;
	rc = err_sys(err, "cannot start the credential plugin %s", c->command);
	if (!*c->hint)
		return rc;
	why = *err;
	return err_set(err, rc, "%.300s; %s", why.msg, c->hint);
}

/* Free `x`, without ending the plugin. */
static void plugin_free(struct exec_plugin *x)
{
	if (x->process >= 0) {
		http_unwatch(x->client, x->process);
		close(x->process);
	}
	if (x->pipe >= 0) {
		http_unwatch(x->client, x->pipe);
		close(x->pipe);
	}
	buf_forget(&x->output);
	mem_free(x->command);
	mem_free(x->api_version);
	mem_free(x);
}

/* The number of plugins that do not end although they were killed. */
static atomic_int unkillable;

/*
 * Function of a thread: wait for the end of a plugin that was killed. `arg`
 * points to the plugin's PID, and is freed.
 */
static void *plugin_wait(void *arg)
{
	pid_t *pid = arg;

	while (waitpid(*pid, NULL, 0) < 0 && errno == EINTR)
		;
	atomic_fetch_sub(&unkillable, 1);
	mem_free(pid);
	return NULL;
}

/*
 * Kill the plugin's process group, and reap the plugin. A plugin that runs as
 * another user (sudo) or hangs in the kernel may not end within KILL_MS. A
 * thread then waits for the plugin, so that the plugin delays neither the loop
 * nor the end of everprof.
 */
static void plugin_reap(const struct exec_plugin *x)
{
	struct pollfd ended = { .fd = x->process, .events = POLLIN };
	pid_t *pid;

	kill(-x->pid, SIGKILL);
	kill(x->pid, SIGKILL);
	/*
	 * If the plugin has ended already, waitpid() reaps the plugin at once.
	 */
	if (waitpid(x->pid, NULL, WNOHANG) != 0)
		return;
	if (x->process >= 0)
		(void)poll(&ended, 1, KILL_MS);
	if (waitpid(x->pid, NULL, WNOHANG) != 0)
		return;
	atomic_fetch_add(&unkillable, 1);
	pid = mem_new(pid_t);
	*pid = x->pid;
	pthread_detach(thread_start("plugin", plugin_wait, pid));
}

/*
 * Kill the plugin, free `x`, and call done() with `err`, to whose message the
 * plugin's command is added.
 */
static void plugin_fail(struct exec_plugin *x, const struct err *err)
{
	exec_plugin_fn done = x->done;
	void *ctx = x->ctx;
	struct err named = *err;

	(void)err_wrap(&named, err->code, "credential plugin %s", x->command);
	plugin_reap(x);
	plugin_free(x);
	done(ctx, NULL, &named);
}

/*
 * Read what the plugin has printed, but stop when the output exceeds
 * OUTPUT_MAX_MIB. Returns false at the end of the output or on an error.
 */
static bool plugin_read(struct exec_plugin *x)
{
	char chunk[4 * KIB];
	ssize_t n = 1;

	while (!x->output.over && (n = read(x->pipe, chunk, sizeof(chunk))) > 0)
		buf_add(&x->output, chunk, (size_t)n);
	explicit_bzero(chunk, sizeof(chunk));
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

static int plugin_too_much(struct err *err)
{
	return err_set(err, ERR_TOOBIG, "it prints more than %d MB",
		       OUTPUT_MAX_MIB);
}

/*
 * Called when the plugin prints something, or closes its output. A plugin that
 * prints too much fails.
 */
static void plugin_on_output(void *ctx, int fd UNUSED, unsigned ready UNUSED)
{
	struct exec_plugin *x = ctx;
	struct err err;

	if (!plugin_read(x))
		http_unwatch(x->client, x->pipe);
	if (x->output.over && plugin_too_much(&err))
		plugin_fail(x, &err);
}

/*
 * Called when the plugin has ended: read the rest of its output, and report the
 * credential, or the error.
 */
static void plugin_on_exit(void *ctx, int fd UNUSED, unsigned ready UNUSED)
{
	struct exec_plugin *x = ctx;
	struct exec_credential c;
	exec_plugin_fn done = x->done;
	void *to = x->ctx;
	siginfo_t info = { 0 };
	struct err err;
	int rc = 0;

	(void)plugin_read(x);
	if (x->output.over)
		rc = plugin_too_much(&err);
	else if (waitid(P_PID, (id_t)x->pid, &info, WEXITED | WNOWAIT))
		rc = err_sys(&err, "wait for it");
	else if (info.si_code != CLD_EXITED)
		rc = err_set(&err, ERR_IO, "it was ended by signal %d",
			     info.si_status);
	else if (info.si_status)
		rc = err_set(
			&err, ERR_IO,
			"it failed with exit code %d; its messages are on everprof's standard error",
			info.si_status);
	if (!rc)
		rc = exec_credential_parse(buf_bytes(&x->output),
					   x->api_version, &c, &err);
	if (rc) {
		plugin_fail(x, &err);
		return;
	}
	plugin_reap(x);
	plugin_free(x);
	done(to, &c, NULL);
	yaml_fini(&c.y);
}

int exec_plugin_start(struct http_client *client,
		      const struct exec_plugin_config *c, exec_plugin_fn done,
		      void *ctx, struct exec_plugin **out, struct err *err)
{
	struct exec_plugin *x = mem_new(struct exec_plugin);
	int ends[2];
	int rc;

	*out = NULL;
	if (atomic_load(&unkillable) >= UNKILLABLE_MAX) {
		mem_free(x);
		return err_set(
			err, ERR_IO,
			"%d or more credential plugins still run although everprof has killed them, so no other is started: end them as root, or restart everprof",
			UNKILLABLE_MAX);
	}
	*x = (struct exec_plugin){ .client = client,
				   .done = done,
				   .ctx = ctx,
				   .command = mem_strdup(c->command),
				   .api_version = mem_strdup(c->api_version),
				   .process = -1,
				   .pipe = -1,
				   .output = buf_init(OUTPUT_MAX_MIB * MIB) };
	if (pipe2(ends, O_CLOEXEC)) {
		rc = err_sys(err, "cannot start a credential plugin: pipe");
		plugin_free(x);
		return rc;
	}
	x->pipe = ends[0];
	(void)fcntl(x->pipe, F_SETFL, O_NONBLOCK);
	rc = plugin_spawn(x, c, ends[1], err);
	close(ends[1]);
	if (rc) {
		plugin_free(x);
		return rc;
	}
	x->process = (int)syscall(SYS_pidfd_open, x->pid, 0);
	if (x->process < 0) {
		rc = err_sys(err,
			     "cannot watch a credential plugin: pidfd_open");
		plugin_reap(x);
		plugin_free(x);
		return rc;
	}
	(void)fcntl(x->process, F_SETFD, FD_CLOEXEC);
	x->deadline_ns = clock_mono_ns() + EXEC_PLUGIN_MS * 1000000LL;
	http_watch(client, x->pipe, HTTP_READABLE, plugin_on_output, x);
	http_watch(client, x->process, HTTP_READABLE, plugin_on_exit, x);
	*out = x;
	return 0;
}

int64_t exec_plugin_expire(struct exec_plugin *x)
{
	int64_t left = x->deadline_ns - clock_mono_ns();
	struct err err;

	if (left > 0)
		return left / 1000000 + 1;
	(void)err_set(&err, ERR_IO, "it has not ended after %d seconds",
		      EXEC_PLUGIN_MS / 1000);
	plugin_fail(x, &err);
	return 0;
}

void exec_plugin_cancel(struct exec_plugin *x)
{
	if (!x)
		return;
	plugin_reap(x);
	plugin_free(x);
}

/*
 * Read a time zone (Z, +hh:mm or -hh:mm) as seconds east of Greenwich. Returns
 * false if `text` is not a time zone.
 */
static bool plugin_read_zone(const char *text, int64_t *seconds)
{
	int64_t hours;
	int64_t minutes;

	*seconds = 0;
	if (!strcmp(text, "Z"))
		return true;
	if ((*text != '+' && *text != '-') || strlen(text) != 6 ||
	    text[3] != ':' ||
	    !str_to_i64((struct str){ text + 1, 2 }, &hours) ||
	    !str_to_i64(str_of(text + 4), &minutes))
		return false;
	*seconds = hours * 3600 + minutes * 60;
	if (*text == '-')
		*seconds = -*seconds;
	return true;
}

/*
 * Read a time such as 2026-01-31T12:00:00.5Z or …+01:00 as Unix time in ms; a
 * fraction of a second is dropped. Returns false if `text` is not such a time.
 */
static bool plugin_read_time(const char *text, int64_t *ms)
{
	struct tm tm = { 0 };
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	int64_t east;

	if (!rest)
		return false;
	if (*rest == '.')
		rest += 1 + strspn(rest + 1, "0123456789");
	if (!plugin_read_zone(rest, &east))
		return false;
	*ms = ((int64_t)timegm(&tm) - east) * 1000;
	return true;
}

/*
 * Set the members of a credential from `status`, the member `status` of the
 * output.
 */
static int plugin_take_status(struct exec_credential *c,
			      const struct yaml_node *status, struct err *err)
{
	struct str expires = doc_text(status, "expirationTimestamp");

	c->token = doc_text(status, "token");
	c->certificate = doc_text(status, "clientCertificateData");
	c->key = doc_text(status, "clientKeyData");
	c->expires_ms = INT64_MAX;
	if (!c->certificate.len != !c->key.len)
		return err_set(
			err, ERR_INVALID,
			"it printed only one of clientCertificateData and clientKeyData");
	if (!c->token.len && !c->key.len)
		return err_set(
			err, ERR_INVALID,
			"it printed neither a token nor a client certificate");
	if (expires.len && !plugin_read_time(expires.ptr, &c->expires_ms))
		return err_set(err, ERR_INVALID,
			       "expirationTimestamp is not a time of RFC 3339");
	return 0;
}

int exec_credential_parse(struct bytes text, const char *api_version,
			  struct exec_credential *c, struct err *err)
{
	const struct yaml_node *root;
	int rc;

	yaml_parse_json(&c->y, "output", text);
	root = c->y.root;
	/* Messages do not repeat the output, because it has secrets. */
	if (!root || !str_is(doc_text(root, "kind"), "ExecCredential"))
		rc = err_set(err, ERR_INVALID,
			     "its output is not an ExecCredential in JSON");
	else if (!str_is(doc_text(root, "apiVersion"), api_version))
		rc = err_set(
			err, ERR_INVALID,
			"its output does not have the apiVersion %.100s of the kubeconfig file",
			api_version);
	else
		rc = plugin_take_status(c, doc_find(root, "status"), err);
	if (rc)
		yaml_fini(&c->y);
	return rc;
}
