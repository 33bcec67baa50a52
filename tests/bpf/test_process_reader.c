/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process reader: this process, a child, a thread of the kernel, and helpers
 * that do not answer.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/process/process_reader.h"
#include "tests/check.h"

TestSuite(process_reader, .timeout = 60);

static char *const program[] = { (char *)ELF_HELPER, (char *)"proc", NULL };

static const struct process_file_wish any = { .owned = false };

/* The number of lines of a text. */
static size_t line_count(struct str text)
{
	size_t n = 0;

	while (text.len) {
		(void)str_cut(text, '\n', &text);
		n++;
	}
	return n;
}

Test(process_reader, tells_of_executable_memory_alone)
{
	struct file_helper *h = file_helper_new(program);
	struct buf answer = { .max = PROCESS_ANSWER_MAX };
	struct process_text t;
	struct err err;
	struct str line;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t lines;
	char *many;

	/* Many mappings that are not executable, and one that is. */
	many = mmap(NULL, 4000 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	cr_assert(many != MAP_FAILED);
	for (size_t i = 0; i < 4000; i += 2)
		cr_assert(!mprotect(many + i * page, page, PROT_READ));
	cr_assert(!prctl(PR_SET_NAME, "a reader"));
	cr_assert(!process_reader_read(h, (uint32_t)getpid(), true, &answer, &t,
				       &err),
		  "%s", err.msg);
	cr_expect(check_str(t.name, "a reader"));
	cr_assert(t.exe.len > 1);
	cr_expect(t.exe.ptr[0] == '/');
	cr_assert(t.cgroup.len);
	cr_expect(t.cmdline.len);
	lines = line_count(t.maps);
	cr_assert(lines > 3, "%zu", lines);
	cr_expect(lines < 200, "%zu", lines);
	while (t.maps.len) {
		line = str_cut(t.maps, '\n', &t.maps);
		(void)str_cut(line, ' ', &line);
		cr_assert(line.len > 2);
		cr_expect(line.ptr[2] == 'x');
	}
	buf_reset(&answer);
	cr_assert(!process_reader_read(h, (uint32_t)getpid(), false, &answer,
				       &t, &err));
	cr_assert(!t.maps.len);
	cr_expect(check_str(t.name, "a reader"));
	cr_assert(!munmap(many, 4000 * page));
	buf_fini(&answer);
	file_helper_close(h);
}

Test(process_reader, processes_that_have_ended_are_not_found)
{
	struct file_helper *h = file_helper_new(program);
	struct buf answer = { .max = PROCESS_ANSWER_MAX };
	struct process_text t;
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	cr_assert(waitpid(pid, NULL, 0) == pid);
	cr_expect(process_reader_read(h, (uint32_t)pid, true, &answer, &t,
				      NULL) == ERR_NOTFOUND);
	buf_fini(&answer);
	file_helper_close(h);
}

Test(process_reader, files_are_handed_over)
{
	struct file_helper *h = file_helper_new(program);
	struct process_user u;
	struct stat st;
	int fd;

	process_user_read(&u, (uint32_t)getpid());
	fd = process_reader_open(h, (uint32_t)getpid(), "/etc/passwd", &u,
				 &any);
	cr_assert(fd >= 0);
	cr_assert(!fstat(fd, &st));
	cr_assert(S_ISREG(st.st_mode));
	close(fd);
	fd = process_reader_open(h, 0, "/etc/passwd", &u, &any);
	cr_expect(fd >= 0);
	close(fd);
	/* The program, and what is not there or no file. */
	fd = process_reader_open(h, (uint32_t)getpid(), NULL, &u, &any);
	cr_expect(fd >= 0);
	close(fd);
	cr_expect(process_reader_open(h, (uint32_t)getpid(), "/nowhere", &u,
				      &any) < 0);
	cr_expect(process_reader_open(h, (uint32_t)getpid(), "/dev/null", &u,
				      &any) < 0);
	process_user_fini(&u);
	file_helper_close(h);
}

/* A helper that waits for ever does not stop the caller, and another follows. */
Test(process_reader, a_helper_that_does_not_answer_is_given_up)
{
	static char *const silent[] = { (char *)"/bin/sleep", (char *)"1000",
					NULL };
	struct file_helper *h = file_helper_new(silent);
	struct buf answer = { .max = PROCESS_ANSWER_MAX };
	struct process_text t;

	for (int i = 0; i < 2; i++) {
		cr_expect(process_reader_read(h, (uint32_t)getpid(), true,
					      &answer, &t,
					      NULL) == ERR_TIMEOUT);
		cr_expect(file_helper_failed(h));
	}
	/* Both have ended. */
	cr_expect(waitpid(-1, NULL, WNOHANG) < 0);
	buf_fini(&answer);
	file_helper_close(h);
}
