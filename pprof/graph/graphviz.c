/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/graph/graphviz.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

/*
 * Limits: elapsed time and CPU time of a drawing in seconds, number of
 * concurrent drawings, and memory of a drawing in bytes.
 */
#define SECONDS     20
#define RUNNING_MAX 2
#define MEMORY_MAX  (512 * MIB)

/* A running dot process, and the pipes to its input and from its output. */
struct child {
	pid_t pid;
	int in;  /* write end of dot's input pipe; -1: closed */
	int out; /* read end of dot's output pipe */
};

/*
 * Start dot with a minimal environment, so that the child gets nothing of the
 * server's environment (credentials, a foreign PATH). ERR_UNSUPPORTED when dot
 * is not installed.
 */
static int graphviz_start(struct child *c, struct err *err)
{
	char name[] = "dot";
	char format[] = "-Tsvg";
	char path[] = "PATH=/usr/local/bin:/usr/bin:/bin";
	char *const argv[] = { name, format, NULL };
	char *const env[] = { path, NULL };
	posix_spawn_file_actions_t actions;
	int to[2] = { -1, -1 };
	int from[2] = { -1, -1 };
	int rc;

	if (pipe2(to, O_CLOEXEC))
		return err_sys(err, "cannot start dot: pipe");
	if (pipe2(from, O_CLOEXEC)) {
		rc = err_sys(err, "cannot start dot: pipe");
		close(to[0]);
		close(to[1]);
		return rc;
	}
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, to[0], 0);
	posix_spawn_file_actions_adddup2(&actions, from[1], 1);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	rc = posix_spawnp(&c->pid, "dot", &actions, NULL, argv, env);
	posix_spawn_file_actions_destroy(&actions);
	/*
	 * Close the child's ends of the pipes: if from[1] stayed open, the
	 * parent would never see the end of the output.
	 */
	close(to[0]);
	close(from[1]);
	c->in = to[1];
	c->out = from[0];
	if (!rc)
		return 0;
	close(c->in);
	close(c->out);
	errno = rc;
	if (rc != ENOENT)
		return err_sys(err, "cannot start the Graphviz program dot");
	return err_set(
		err, ERR_UNSUPPORTED,
		"the report \"svg\" requires the Graphviz program \"dot\", which everprof did not find in its PATH: install graphviz on the machine that makes the report, or use the report \"dot\"");
}

/*
 * Bound the memory and CPU time of the child. The limits are set after the
 * child has been started, since posix_spawn() cannot set them.
 */
static void graphviz_set_limit(const struct child *c)
{
	const struct rlimit memory = { MEMORY_MAX, MEMORY_MAX };
	const struct rlimit cpu = { SECONDS, SECONDS };

	(void)prlimit(c->pid, RLIMIT_AS, &memory, NULL);
	(void)prlimit(c->pid, RLIMIT_CPU, &cpu, NULL);
	/*
	 * A blocking write could deadlock: dot may block on its output while
	 * the parent blocks on its input.
	 */
	(void)fcntl(c->in, F_SETFL, O_NONBLOCK);
}

/*
 * Close the child's standard input unless it is closed already; dot then begins
 * to draw.
 */
static void close_in(struct child *c)
{
	if (c->in >= 0)
		close(c->in);
	c->in = -1;
}

/*
 * Write as much of the graph as the pipe accepts, and close the pipe at the end
 * or after an error. Errors are not reported here, as dot then fails, too.
 */
static void graphviz_feed(struct child *c, struct bytes *left)
{
	ssize_t n = write(c->in, left->ptr, left->len);

	if (n > 0) {
		left->ptr += n;
		left->len -= (size_t)n;
	}
	if (!left->len || (n < 0 && errno != EAGAIN && errno != EINTR))
		close_in(c);
}

/*
 * Read a piece of the drawing. Returns 1 if more may follow, 0 at the end, or
 * ERR_TOOBIG when `out` exceeds its maximum size.
 */
static int graphviz_drain(struct child *c, struct buf *out, struct err *err)
{
	char chunk[16 * KIB];
	ssize_t n = read(c->out, chunk, sizeof(chunk));

	if (n < 0)
		return errno == EINTR ? 1 :
					err_sys(err, "cannot read from dot");
	buf_add(out, chunk, (size_t)n);
	if (out->over)
		return err_set(
			err, ERR_TOOBIG,
			"the SVG drawing is larger than %zu bytes: set a smaller nodecount",
			out->max);
	return n > 0;
}

/*
 * Write the graph and read the drawing at the same time, until the end of the
 * output or the deadline. poll() ignores the closed input pipe, which is -1.
 */
static int graphviz_talk(struct child *c, struct bytes left, struct buf *out,
			 struct err *err)
{
	int64_t end = clock_mono_ns() + SECONDS * 1000000000LL;
	int rc = 1;

	while (rc > 0) {
		struct pollfd fds[] = { { .fd = c->out, .events = POLLIN },
					{ .fd = c->in, .events = POLLOUT } };
		int64_t wait_ms = (end - clock_mono_ns()) / 1000000;

		if (wait_ms <= 0)
			return err_set(
				err, ERR_TIMEOUT,
				"the Graphviz program dot did not finish within %d s: set a smaller nodecount",
				SECONDS);
		if (poll(fds, 2, (int)wait_ms) < 0 && errno != EINTR)
			return err_sys(err, "cannot wait for dot: poll");
		if (c->in >= 0 && fds[1].revents)
			graphviz_feed(c, &left);
		if (fds[0].revents)
			rc = graphviz_drain(c, out, err);
	}
	return rc;
}

/* Run one dot process. It is killed if reading failed, and always reaped. */
static int graphviz_draw(struct bytes dot, struct buf *out, struct err *err)
{
	struct child c = { .in = -1, .out = -1 };
	int status = 0;
	int rc = graphviz_start(&c, err);

	if (rc)
		return rc;
	graphviz_set_limit(&c);
	rc = graphviz_talk(&c, dot, out, err);
	close_in(&c);
	close(c.out);
	if (rc)
		kill(c.pid, SIGKILL);
	while (waitpid(c.pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!rc && status)
		rc = err_set(
			err, ERR_INVALID,
			"the Graphviz program \"dot\" failed to draw the graph: set a smaller nodecount, or use the report \"dot\"");
	return rc;
}

int graphviz_svg(struct bytes dot, struct buf *out, struct err *err)
{
	static atomic_int running;
	int rc;

	/*
	 * Bound the number of processes: each may use a core and much memory
	 * for seconds.
	 */
	if (atomic_fetch_add(&running, 1) >= RUNNING_MAX)
		rc = err_set(
			err, ERR_LIMIT,
			"%d graphs are already being drawn: try again later",
			RUNNING_MAX);
	else
		rc = graphviz_draw(dot, out, err);
	atomic_fetch_sub(&running, 1);
	return rc;
}
