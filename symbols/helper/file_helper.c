/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/helper/file_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "symbols/helper/helper_wire.h"
#include "symbols/helper/sandbox.h"

enum {
	/*
	 * How long file_helper_rest() waits for the end of the helper that it
	 * has killed.
	 */
	HELPER_END_MS = 100,
	/*
	 * Largest number of helpers that could not be ended, for one user other
	 * than root. At this limit, no more files of the user are read.
	 */
	HELPER_LEFT_USER_MAX = 2,
	/* The same for root. */
	HELPER_LEFT_ROOT_MAX = 8,
	/* The same for all users other than root together. */
	HELPER_LEFT_USERS_MAX = 32,
	HELPER_LEFT_MAX = HELPER_LEFT_USERS_MAX + HELPER_LEFT_ROOT_MAX + 1,
};

/* A helper that was killed and has not ended yet. */
struct helper_left {
	pid_t pid;
	uint32_t user; /* whose file it read */
};

struct file_helper {
	char *const *argv;
	pid_t pid; /* 0: it does not run */
	int socket;
	uint32_t user; /* the user whose files are read; 0: root, or not set */
	struct helper_left left[HELPER_LEFT_MAX];
	unsigned left_count;
};

/* In a helper: the descriptor to be sent with the answer, or -1. */
static int file_helper_given = -1;

void file_helper_give(int fd)
{
	file_helper_given = fd;
}

/*
 * Run one operation, and answer; if `run` is NULL, answer with the error *why.
 * False: the caller is gone.
 */
static bool file_helper_answer(int socket, file_operation *run, int fd,
			       struct bytes argument, const struct err *why)
{
	struct helper_reply reply = { .code = why->code };
	struct err err = *why;
	struct buf out = { 0 };
	struct str message;
	bool good;

	if (run)
		reply.code = run(fd, argument, &out, &err);
	else
		close(fd);
	message = str_of(err.msg);
	if (reply.code) {
		buf_reset(&out);
		buf_add(&out, message.ptr, message.len);
	}
	reply.len = (uint32_t)out.len;
	good = !helper_send_reply(socket, &reply, file_helper_given) &&
	       !helper_write(socket, out.ptr, out.len, 0);
	if (file_helper_given >= 0)
		close(file_helper_given);
	file_helper_given = -1;
	buf_fini(&out);
	return good;
}

/* Be a helper, with the rights of `kind`. */
static int file_helper_run(enum sandbox_kind kind, int socket,
			   file_operation *const *operations, uint32_t count)
{
	static uint8_t argument[FILE_HELPER_ARGUMENT_MAX];
	struct helper_request request;
	struct err why = {
		.code = ERR_INVALID,
		.msg = "the file helper does not know the requested operation"
	};
	int fd;

	/*
	 * If the sandbox cannot be entered, read no file, and answer each
	 * request with the error of sandbox_enter().
	 */
	if (sandbox_enter(kind, FILE_HELPER_MEMORY_MB, &why)) {
		count = 0;
		(void)err_wrap(
			&why, ERR_AGAIN,
			"the process that reads files for everprof cannot be confined");
	}
	while (!helper_receive_request(socket, &request, &fd)) {
		if (request.argument > sizeof(argument) ||
		    helper_read(socket, argument, request.argument, 0) ||
		    !file_helper_answer(
			    socket,
			    request.operation < count ?
				    operations[request.operation] :
				    NULL,
			    fd,
			    (struct bytes){ .ptr = argument,
					    .len = request.argument },
			    &why))
			return 1;
	}
	return 0;
}

int file_helper_serve(int socket, file_operation *const *operations,
		      uint32_t count)
{
	return file_helper_run(SANDBOX_FILES, socket, operations, count);
}

int file_helper_serve_proc(int socket, file_operation *const *operations,
			   uint32_t count)
{
	return file_helper_run(SANDBOX_PROC, socket, operations, count);
}

struct file_helper *file_helper_new(char *const *argv)
{
	struct file_helper *h = mem_new(struct file_helper);

	h->argv = argv;
	h->socket = -1;
	return h;
}

/* Reap the killed helpers that have ended, and remove them from h->left. */
static void file_helper_reap(struct file_helper *h)
{
	unsigned left = 0;

	for (unsigned i = 0; i < h->left_count; i++) {
		if (!waitpid(h->left[i].pid, NULL, WNOHANG))
			h->left[left++] = h->left[i];
	}
	h->left_count = left;
}

/* Whether the helper that was killed last has not ended. */
static bool file_helper_is_left(struct file_helper *h)
{
	file_helper_reap(h);
	return h->left_count && h->left[h->left_count - 1].pid == h->pid;
}

/*
 * A process that waits in the kernel for a file system cannot always be ended.
 * So wait at most HELPER_END_MS for its end. A process that has not ended by
 * then stays in h->left.
 */
void file_helper_rest(struct file_helper *h)
{
	if (!h->pid)
		return;
	close(h->socket);
	kill(h->pid, SIGKILL);
	h->left[h->left_count++] = (struct helper_left){ h->pid, h->user };
	for (int ms = 0; ms < HELPER_END_MS && file_helper_is_left(h); ms++)
		usleep(1000);
	h->pid = 0;
	h->socket = -1;
}

void file_helper_close(struct file_helper *h)
{
	if (!h)
		return;
	file_helper_rest(h);
	mem_free(h);
}

/*
 * Start the program with one end of a socket as its standard input. The
 * malloc() of this program asks the kernel for large pages, because a helper
 * fills and frees tens of megabytes for each large file.
 */
static int file_helper_spawn(struct file_helper *h, const int ends[2],
			     struct err *err)
{
	static char tunables[] = "GLIBC_TUNABLES=glibc.malloc.hugetlb=1";
	static char *const environment[] = { tunables, NULL };
	posix_spawn_file_actions_t actions;
	int rc = posix_spawn_file_actions_init(&actions);

	if (!rc)
		rc = posix_spawn_file_actions_adddup2(&actions, ends[1], 0);
	if (!rc)
		rc = posix_spawn_file_actions_addclosefrom_np(&actions, 3);
	if (!rc)
		rc = posix_spawn(&h->pid, h->argv[0], &actions, NULL, h->argv,
				 environment);
	posix_spawn_file_actions_destroy(&actions);
	if (!rc)
		return 0;
	h->pid = 0;
	errno = rc;
	return err_sys(err, "cannot start a helper process (%s)", h->argv[0]);
}

void file_helper_set_user(struct file_helper *h, uint32_t user)
{
	h->user = user;
}

/*
 * Return 0 if a file of h->user may be read. ERR_AGAIN: too many helpers wait
 * in the kernel for files of this user or, if this user is not root, for files
 * of all users other than root together.
 */
static int file_helper_admit(struct file_helper *h, struct err *err)
{
	unsigned own = 0;
	unsigned users = 0;

	if (h->left_count)
		file_helper_reap(h);
	for (unsigned i = 0; i < h->left_count; i++) {
		own += h->left[i].user == h->user;
		users += h->left[i].user != 0;
	}
	if (h->user ? own < HELPER_LEFT_USER_MAX &&
			      users < HELPER_LEFT_USERS_MAX :
		      own < HELPER_LEFT_ROOT_MAX)
		return 0;
	return err_set(
		err, ERR_AGAIN,
		"%u earlier processes still hang while they read this file or others (a file system does not answer, such as NFS without its server); this file is not read until some of them have ended",
		h->user && own < HELPER_LEFT_USER_MAX ? users : own);
}

static int file_helper_start(struct file_helper *h, struct err *err)
{
	int ends[2];
	int rc = file_helper_admit(h, err);

	if (rc || h->pid)
		return rc;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return err_sys(err, "socketpair");
	rc = file_helper_spawn(h, ends, err);
	close(ends[1]);
	if (rc)
		close(ends[0]);
	else
		h->socket = ends[0];
	return rc;
}

/* Read the message of an error, and return the code of the error. */
static int file_helper_error(struct file_helper *h,
			     const struct helper_reply *reply, int64_t deadline,
			     struct err *err)
{
	char message[sizeof(err->msg)] = "";
	size_t len = reply->len < sizeof(message) - 1 ? reply->len :
							sizeof(message) - 1;
	int rc = helper_read(h->socket, message, len, deadline);

	return rc ? rc : err_set(err, reply->code, "%s", message);
}

/*
 * Read an answer into `out`. *fd_out becomes the descriptor that comes with the
 * answer, or -1.
 */
static int file_helper_receive(struct file_helper *h, int64_t deadline,
			       struct buf *out, int *fd_out, struct err *err)
{
	struct helper_reply reply;
	int rc = helper_receive_reply(h->socket, &reply, fd_out, deadline);

	if (rc)
		return rc;
	if (reply.code < 0)
		return file_helper_error(h, &reply, deadline, err);
	if (!buf_reserve(out, reply.len))
		return ERR_TOOBIG;
	rc = helper_read(h->socket, out->ptr + out->len, reply.len, deadline);
	if (!rc)
		out->len += reply.len;
	return rc;
}

bool file_helper_failed(const struct file_helper *h)
{
	return !h->pid;
}

/* Set the error that says why there is no answer, and end the helper. */
static int file_helper_fail(struct file_helper *h, int rc, unsigned timeout_ms,
			    const struct buf *out, struct err *err)
{
	/* End the helper, because it is not known what it would send next. */
	file_helper_rest(h);
	if (rc == ERR_TIMEOUT)
		return err_set(err, rc,
			       "reading the file took longer than %u ms",
			       timeout_ms);
	if (rc == ERR_TOOBIG)
		return err_set(
			err, rc,
			"the process that reads files for everprof answered with more than %zu bytes",
			buf_limit(out));
	return err_set(
		err, ERR_CORRUPT,
		"the process that reads files for everprof ended without an answer (the file may be damaged or too large)");
}

/* What a helper is asked. `fd` is borrowed. */
struct helper_call {
	uint32_t operation;
	int fd;
	struct bytes argument;
	unsigned timeout_ms;
};

/*
 * Ask the helper, and receive its answer. *fd_out becomes the descriptor that
 * comes with the answer, or -1.
 */
static int file_helper_ask(struct file_helper *h, const struct helper_call *c,
			   struct buf *out, int *fd_out, struct err *err)
{
	int64_t deadline = clock_mono_ns() + (int64_t)c->timeout_ms * 1000000;
	struct err said = { .code = 0 };
	int rc;

	*fd_out = -1;
	if (c->argument.len > FILE_HELPER_ARGUMENT_MAX)
		return err_set(
			err, ERR_TOOBIG,
			"the question about a file has more than %d bytes",
			FILE_HELPER_ARGUMENT_MAX);
	rc = file_helper_start(h, err);
	if (rc)
		return rc;
	rc = helper_send_request(h->socket, c->operation, c->fd, c->argument,
				 deadline);
	if (!rc)
		rc = file_helper_receive(h, deadline, out, fd_out, &said);
	if (rc && *fd_out >= 0) {
		close(*fd_out);
		*fd_out = -1;
	}
	if (rc && said.code)
		return err_set(err, rc, "%s", said.msg);
	return rc ? file_helper_fail(h, rc, c->timeout_ms, out, err) : 0;
}

/* NOLINTNEXTLINE(readability-function-size): a request and its answer */
int file_helper_call(struct file_helper *h, uint32_t operation, int fd,
		     struct bytes argument, unsigned timeout_ms,
		     struct buf *out, struct err *err)
{
	const struct helper_call c = { operation, fd, argument, timeout_ms };
	int given;
	int rc = file_helper_ask(h, &c, out, &given, err);

	close(fd);
	if (given >= 0)
		close(given);
	return rc;
}

int file_helper_call_open(struct file_helper *h, uint32_t operation,
			  struct bytes argument, unsigned timeout_ms,
			  int *fd_out, struct err *err)
{
	/*
	 * Each request must bring a descriptor; the operation does not use this
	 * one.
	 */
	int root = open("/", O_PATH | O_CLOEXEC);
	const struct helper_call c = { operation, root, argument, timeout_ms };
	struct buf nothing = buf_init(1);
	int rc;

	*fd_out = -1;
	if (root < 0)
		return err_sys(err, "open /");
	rc = file_helper_ask(h, &c, &nothing, fd_out, err);
	close(root);
	buf_fini(&nothing);
	if (!rc && *fd_out < 0)
		rc = err_set(err, ERR_NOTFOUND, "no file was opened");
	return rc;
}
