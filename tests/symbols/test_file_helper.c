/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file helper: answers, errors, and what happens when a file has taken over
 * the parser.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "symbols/helper/file_helper.h"
#include "symbols/helper/helper_wire.h"
#include "tests/check.h"
#include "tests/tempdir.h"

TestSuite(file_helper, .timeout = 120);

enum {
	COPY,
	FAIL,
	CRASH,
	SPIN,
	OPEN,
	CONNECT,
	COMPILE,
	FLOOD,
	NO_SUCH_OPERATION,
};

static char *const program[] = { (char *)FILE_HELPER, NULL };

/* A descriptor of a file with a text. */
static int file_with(const char *text)
{
	char path[] = "/tmp/everprof-helper-XXXXXX";
	int fd = mkstemp(path);

	cr_assert(fd >= 0);
	cr_assert(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	unlink(path);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static int call(struct file_helper *h, uint32_t operation, struct buf *out,
		struct err *err)
{
	return file_helper_call(h, operation, file_with("a file "),
				bytes_of(str_of("and an argument")), 60000, out,
				err);
}

/* The helper answers, whatever happened before. */
static void works(struct file_helper *h)
{
	struct buf out = { .max = 1000 };
	struct err err;

	cr_assert(!call(h, COPY, &out, &err), "%s", err.msg);
	cr_expect(
		check_str(str_from(buf_bytes(&out)), "a file and an argument"));
	buf_fini(&out);
}

static size_t open_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

Test(file_helper, answers_and_errors)
{
	struct file_helper *h = file_helper_new(program);
	struct buf out = { .max = 1000 };
	struct err err;
	size_t before;

	works(h);
	before = open_descriptors();
	for (int i = 0; i < 10; i++)
		works(h);
	cr_expect(call(h, FAIL, &out, &err) == ERR_UNSUPPORTED);
	cr_expect(check_str(str_of(err.msg), "not like this: and an argument"));
	cr_expect(!out.len);
	cr_expect(call(h, NO_SUCH_OPERATION, &out, &err) == ERR_INVALID);
	works(h);
	cr_expect(open_descriptors() == before);
	file_helper_close(h);
	file_helper_close(NULL);
	buf_fini(&out);
}

Test(file_helper, a_crash_is_an_error_of_the_file)
{
	struct file_helper *h = file_helper_new(program);
	struct buf out = { .max = 1000 };
	struct err err;

	cr_expect(call(h, CRASH, &out, &err) == ERR_CORRUPT);
	cr_expect(strstr(err.msg, "ended without an answer"), "%s", err.msg);
	works(h);
	file_helper_close(h);
	buf_fini(&out);
}

Test(file_helper, a_question_that_is_too_long_costs_no_helper)
{
	struct file_helper *h = file_helper_new(program);
	struct bytes argument = {
		.ptr = mem_zalloc(FILE_HELPER_ARGUMENT_MAX + 1, 1),
		.len = FILE_HELPER_ARGUMENT_MAX + 1,
	};
	struct buf out = { .max = 1000 };
	struct err err;

	works(h);
	cr_expect(file_helper_call(h, FAIL, file_with(""), argument, 1000, &out,
				   &err) == ERR_TOOBIG);
	cr_expect(!file_helper_failed(h));
	works(h);
	file_helper_close(h);
	mem_free((void *)argument.ptr);
	buf_fini(&out);
}

Test(file_helper, an_endless_parser_is_ended)
{
	struct file_helper *h = file_helper_new(program);
	struct buf out = { .max = 1000 };
	struct err err;

	works(h);
	cr_expect(file_helper_call(h, SPIN, file_with(""), (struct bytes){ 0 },
				   50, &out, &err) == ERR_TIMEOUT);
	works(h);
	file_helper_close(h);
	buf_fini(&out);
}

/* The newest child of this process. */
static pid_t newest_child(void)
{
	FILE *f = fopen("/proc/thread-self/children", "r");
	int pid = 0;

	if (!f)
		check_skip("this kernel does not list children");
	while (fscanf(f, "%d", &pid) == 1)
		;
	fclose(f);
	return pid;
}

/*
 * Another process traces the helper: so it cannot be waited for when it was
 * killed, as if it waited in the kernel. Returns the other process; 0: this
 * machine does not permit it.
 */
static pid_t hold_helper(struct file_helper *h)
{
	pid_t helper;
	pid_t holder;
	char ready = 0;
	int ends[2];

	works(h);
	helper = newest_child();
	cr_assert(!pipe(ends));
	holder = fork();
	if (!holder) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		ready = !ptrace(PTRACE_SEIZE, helper, NULL, NULL);
		(void)!write(ends[1], &ready, 1);
		for (;;)
			pause();
	}
	cr_assert(read(ends[0], &ready, 1) == 1);
	close(ends[0]);
	close(ends[1]);
	if (ready)
		return holder;
	kill(holder, SIGKILL);
	waitpid(holder, NULL, 0);
	return 0;
}

static int call_spin(struct file_helper *h)
{
	struct buf out = { .max = 1000 };
	int rc = file_helper_call(h, SPIN, file_with(""), (struct bytes){ 0 },
				  100, &out, NULL);

	buf_fini(&out);
	return rc;
}

/* A file system that a user controls can make helpers wait for ever. */
Test(file_helper, a_user_whose_files_hold_helpers_delays_nobody_else)
{
	struct file_helper *h = file_helper_new(program);
	pid_t holders[2];

	for (int i = 0; i < 2; i++) {
		file_helper_set_user(h, 1000);
		holders[i] = hold_helper(h);
		if (!holders[i])
			check_skip("processes cannot be traced here");
		/* One counts that was ended between two questions, too. */
		if (i)
			file_helper_rest(h);
		else
			cr_expect(call_spin(h) == ERR_TIMEOUT);
	}
	cr_expect(call_spin(h) == ERR_AGAIN, "no third one for him");
	file_helper_set_user(h, 1001);
	works(h);
	file_helper_set_user(h, 1000);
	cr_expect(call_spin(h) == ERR_AGAIN, "nor that of somebody else");
	file_helper_set_user(h, 0);
	works(h);
	kill(holders[0], SIGKILL);
	waitpid(holders[0], NULL, 0);
	file_helper_set_user(h, 1000);
	for (int i = 0; i < 1000 && call_spin(h) == ERR_AGAIN; i++)
		usleep(10000);
	works(h);
	kill(holders[1], SIGKILL);
	waitpid(holders[1], NULL, 0);
	file_helper_close(h);
}

Test(file_helper, answers_are_limited)
{
	struct file_helper *h = file_helper_new(program);
	struct buf out = { .max = 1000 };
	struct err err;

	cr_expect(call(h, FLOOD, &out, &err) == ERR_TOOBIG);
	cr_expect(!out.len);
	works(h);
	file_helper_close(h);
	buf_fini(&out);
}

/* A parser that was taken over can neither open files nor speak to others. */
Test(file_helper, nothing_can_be_opened)
{
	struct file_helper *h = file_helper_new(program);
	struct buf out = { .max = 1000 };
	struct err err;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	const int refused = ERR_INVALID; /* sanitizers need system calls */
#elif defined(__clang__)
	const int refused = 0; /* not known: not asked */
#else
	const int refused = ERR_CORRUPT;
#endif

	/* Libraries look for files that are not there: that is no attack. */
	if (refused == ERR_CORRUPT)
		cr_expect(call(h, OPEN, &out, &err) == ERR_DENIED, "%s",
			  err.msg);
	for (uint32_t i = CONNECT; i <= COMPILE && refused; i++)
		cr_expect(call(h, i, &out, &err) == refused, "%u: %s", i,
			  err.msg);
	works(h);
	file_helper_close(h);
	buf_fini(&out);
}

/* Find the line of a process' status that begins with a word. */
static void status_line(const char *pid, const char *word, char *to, int size)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/status", pid);
	f = fopen(path, "re");
	cr_assert(f);
	while (fgets(to, size, f) && strncmp(to, word, strlen(word)))
		;
	fclose(f);
}

/* Send a reply with two descriptors, as a helper does that was taken over. */
static void send_two(int socket)
{
	struct helper_reply reply = { .len = 0 };
	struct iovec part = { .iov_base = &reply, .iov_len = sizeof(reply) };
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} control = { .bytes = { 0 } };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };
	const int fds[2] = { 1, 2 };

	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(&control.header), fds, sizeof(fds));
	cr_assert(sendmsg(socket, &message, 0) == sizeof(reply));
}

Test(file_helper, further_descriptors_are_not_taken)
{
	struct helper_reply reply;
	size_t before;
	int ends[2];
	int fd;

	cr_assert(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	before = open_descriptors();
	send_two(ends[1]);
	cr_assert(!helper_receive_reply(ends[0], &reply, &fd, 0));
	cr_expect(fd >= 0);
	close(fd);
	cr_expect(open_descriptors() == before);
	close(ends[0]);
	close(ends[1]);
}

Test(file_helper, a_helper_that_does_not_read_ends_at_the_deadline)
{
	static uint8_t zeros[4096];
	const struct bytes argument = { zeros, sizeof(zeros) };
	int ends[2];
	int rc = 0;

	cr_assert(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	for (int i = 0; i < 1000 && !rc; i++)
		rc = helper_send_request(ends[0], 1, 2, argument,
					 clock_mono_ns() + 100000000);
	cr_expect(rc == ERR_TIMEOUT);
	close(ends[0]);
	close(ends[1]);
}

Test(file_helper, it_has_no_privileges)
{
	struct file_helper *h = file_helper_new(program);
	char path[64];
	char pid[32] = "";
	char line[256];
	FILE *f;

	works(h);
	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	f = fopen(path, "re");
	if (!f) {
		file_helper_close(h);
		check_skip("this kernel does not list children");
	}
	cr_assert(fscanf(f, "%31s", pid) == 1);
	fclose(f);
	status_line(pid, "CapEff:", line, sizeof(line));
	cr_expect(
		check_str(str_trim(str_of(line)), "CapEff:\t0000000000000000"));
	status_line(pid, "CapPrm:", line, sizeof(line));
	cr_expect(
		check_str(str_trim(str_of(line)), "CapPrm:\t0000000000000000"));
	status_line(pid, "NoNewPrivs:", line, sizeof(line));
	cr_expect(check_str(str_trim(str_of(line)), "NoNewPrivs:\t1"));
	status_line(pid, "Uid:", line, sizeof(line));
	cr_expect(!str_starts(str_of(line), str_of("Uid:\t0\t")));
	file_helper_close(h);
}
