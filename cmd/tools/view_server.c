/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/tools/view_server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/env.h"
#include "base/fs.h"
#include "base/mem.h"
#include "cmd/serve/notify.h"

/* How long to wait for a message before it is checked that the server lives, in ms. */
#define LOOK_MS 100

/* The name of its configuration file. */
#define VIEW_CONFIG "everprof.yaml"

/* Make the folder. Only the user may enter it, so only the server finds the socket. */
static int view_server_make_dir(struct view_server *s, struct err *err)
{
	const char *tmp = env_find("TMPDIR");

	s->dir = mem_printf("%s/everprof-view-XXXXXX",
			    tmp && *tmp ? tmp : "/tmp");
	if (mkdtemp(s->dir))
		return 0;
	(void)err_sys(err, "cannot make the folder %s", s->dir);
	mem_free(s->dir);
	s->dir = NULL;
	return err->code;
}

/* Write a configuration with nothing in it: that of the working directory is not ours. */
static int view_server_configure(const struct view_server *s, struct err *err)
{
	char *path = mem_printf("%s/" VIEW_CONFIG, s->dir);
	char *tmp = mem_printf("%s.tmp", path);
	int rc = file_replace(NULL, tmp, path,
			      bytes_of(str_of("scrape_configs: []\n")), err);

	mem_free(path);
	mem_free(tmp);
	return rc;
}

/* Open the socket to which the server says that it is ready. */
static int view_server_listen(const struct view_server *s, int *out,
			      struct err *err)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int n = snprintf(at.sun_path, sizeof(at.sun_path), "%s/ready", s->dir);

	if (n < 0 || (size_t)n >= sizeof(at.sun_path))
		return err_set(
			err, ERR_INVALID,
			"the path %s is too long for a socket: set TMPDIR",
			s->dir);
	*out = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (*out < 0 ||
	    bind(*out, (const struct sockaddr *)&at, sizeof(at)) < 0)
		return err_sys(err, "%s", at.sun_path);
	return 0;
}

/* In the child: become the server. */
static void view_server_exec(const struct view_server *s,
			     const struct view_server_options *o)
{
	char *ready = mem_printf("%s/ready", s->dir);
	char *data = mem_printf("--storage.tsdb.path=%s/data", s->dir);
	char *symbols = mem_printf("--symbols.path=%s", o->symbols_path);
	char *source =
		mem_printf("--query.source-path=%s", o->source_path ?: "");
	char *config = mem_printf("--config.file=%s/" VIEW_CONFIG, s->dir);
	char *size = mem_printf("--scrape.max-profile-size=%lld",
				(long long)o->max_profile);
	/* The server does not start with less. */
	long long least = o->max_profile > MIB ? o->max_profile : MIB;
	char *memory = mem_printf("--ingest.memory=%lld", least * 8);
	char *queries = mem_printf("--query.memory=%lld", least * 16);
	char *room =
		mem_printf("--adhoc.size=%lld", (long long)o->max_profile * 8);
	char *argv[] = {
		(char[]){ "everprof" },
		(char[]){ "serve" },
		(char[]){ "--web.listen-address=127.0.0.1:0" },
		(char[]){ "--log.level=error" },
		(char[]){ "--adhoc.ttl=365d" },
		config,
		data,
		symbols,
		source,
		size,
		memory,
		queries,
		room,
		NULL,
	};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	/* A child has one thread. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	(void)setenv(NOTIFY_VARIABLE, ready, 1);
	if (null >= 0)
		(void)dup2(null, STDOUT_FILENO);
	execv("/proc/self/exe", argv);
	_exit(127);
}

bool view_server_has_ended(struct view_server *s)
{
	int status;

	if (s->pid > 0 && waitpid(s->pid, &status, WNOHANG) == s->pid)
		s->pid = 0;
	return s->pid <= 0;
}

/* Find the URL in a message of the server. Returns whether it is there. */
static bool view_server_read(struct view_server *s, struct str message)
{
	while (message.len) {
		struct str value;
		struct str line = str_cut(message, '\n', &message);

		if (!str_is(str_cut(line, '=', &value), NOTIFY_URL))
			continue;
		(void)snprintf(s->url, sizeof(s->url), "%.*s", STR_ARG(value));
		return true;
	}
	return false;
}

/* Wait until the server says where it listens. */
static int view_server_wait(struct view_server *s, int fd, struct err *err)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	for (;;) {
		char message[512];
		ssize_t n;

		if (poll(&p, 1, LOOK_MS) > 0) {
			n = recv(fd, message, sizeof(message), MSG_DONTWAIT);
			if (n > 0 &&
			    view_server_read(
				    s, (struct str){ message, (size_t)n }))
				return 0;
		}
		if (view_server_has_ended(s))
			return err_set(
				err, ERR_CLOSED,
				"the server that \"everprof view\" started has ended");
	}
}

int view_server_start(struct view_server *s,
		      const struct view_server_options *o, struct err *err)
{
	int fd = -1;
	int rc = view_server_make_dir(s, err);

	if (!rc)
		rc = view_server_configure(s, err);
	if (!rc)
		rc = view_server_listen(s, &fd, err);
	if (!rc) {
		s->pid = fork();
		if (s->pid < 0)
			rc = err_sys(err, "fork");
		else if (!s->pid)
			view_server_exec(s, o);
	}
	if (!rc)
		rc = view_server_wait(s, fd, err);
	if (fd >= 0)
		close(fd);
	return rc;
}

void view_server_stop(struct view_server *s)
{
	struct err err;

	if (s->pid > 0) {
		(void)kill(s->pid, SIGTERM);
		while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (s->dir)
		(void)!fs_remove_dir(NULL, s->dir, &err);
	mem_free(s->dir);
}
