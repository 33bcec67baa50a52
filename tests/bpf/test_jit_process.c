/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The maps of code that processes have compiled: that of a process' own user,
 * and those that others have put in its place.
 */
#include "bpf/collect/jit_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "bpf/process/process_reader.h"
#include "tests/check.h"

TestSuite(jit_process, .timeout = 60);

#define NOBODY   65534
#define STRANGER 65533

static char *const program[] = { (char *)ELF_HELPER, (char *)"proc", NULL };

/* A process of the user nobody, and the path of its map. */
struct compiler {
	pid_t pid;
	char *map;
};

static struct compiler compiler_begin(void)
{
	struct compiler c = { .pid = fork() };

	cr_assert(c.pid >= 0);
	if (!c.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (setgid(NOBODY) || setuid(NOBODY))
			_exit(1);
		for (;;)
			pause();
	}
	c.map = mem_printf("/tmp/perf-%d.map", (int)c.pid);
	return c;
}

static void compiler_end(struct compiler *c)
{
	(void)unlink(c->map);
	mem_free(c->map);
	kill(c->pid, SIGKILL);
	(void)waitpid(c->pid, NULL, 0);
}

/* Make a file of a user that everyone may read. */
static void make_file(const char *path, uid_t owner)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);

	cr_assert(fd >= 0);
	cr_assert(write(fd, "0 1 secret\n", 11) == 11);
	cr_assert(!fchown(fd, owner, owner));
	cr_assert(!fchmod(fd, 0644));
	close(fd);
}

/* Whether the map of a process is opened, early or late. */
static bool is_opened(struct compiler *c, struct file_helper *h)
{
	struct jit_process j;
	bool early;
	int fd;

	jit_process_read(&j, (uint32_t)c->pid, h);
	cr_expect(j.user.uid == NOBODY);
	early = j.map >= 0;
	fd = jit_process_open(&j, h);
	cr_expect((fd >= 0) == early);
	if (fd >= 0)
		close(fd);
	jit_process_fini(&j);
	return early;
}

/*
 * Whether the map of a process that has ended is opened, whose number in its own
 * PID namespace was that of another process here.
 */
static bool is_opened_by_number(struct compiler *c, struct file_helper *h)
{
	struct jit_process j = { .pid = 0x3fffffff,
				 .own = (uint32_t)c->pid,
				 .map = -1 };
	int fd;

	process_user_read(&j.user, (uint32_t)c->pid);
	fd = jit_process_open(&j, h);
	if (fd >= 0)
		close(fd);
	jit_process_fini(&j);
	return fd >= 0;
}

/* Wait until the process is of its user. */
static void await_user(struct compiler *c)
{
	struct process_user u = { .uid = 0 };

	while (u.uid != NOBODY) {
		process_user_read(&u, (uint32_t)c->pid);
		cr_assert(!waitpid(c->pid, NULL, WNOHANG));
		process_user_fini(&u);
		usleep(1000);
	}
}

Test(jit_process, only_a_map_of_its_own_user_is_opened)
{
	struct file_helper *h = file_helper_new(program);
	struct compiler c;
	char *target;

	if (geteuid())
		check_skip("another user needs root");
	c = compiler_begin();
	await_user(&c);
	cr_expect(!is_opened(&c, h), "there is none");
	make_file(c.map, NOBODY);
	cr_expect(is_opened(&c, h));
	/* That of a process with its number in a PID namespace is another one. */
	cr_expect(!is_opened_by_number(&c, h));
	cr_assert(!unlink(c.map));
	make_file(c.map, STRANGER);
	cr_expect(!is_opened(&c, h), "of another user");
	cr_assert(!unlink(c.map));
	make_file(c.map, 0);
	cr_expect(!is_opened(&c, h), "of root");
	cr_assert(!unlink(c.map));
	/* A link of its user to a file that its user could read. */
	target = mem_printf("%s.target", c.map);
	make_file(target, NOBODY);
	cr_assert(!symlink(target, c.map));
	cr_assert(!lchown(c.map, NOBODY, NOBODY));
	cr_expect(!is_opened(&c, h), "a link");
	(void)unlink(target);
	mem_free(target);
	cr_assert(!unlink(c.map));
	cr_assert(!mkfifo(c.map, 0644));
	cr_assert(!chown(c.map, NOBODY, NOBODY));
	cr_expect(!is_opened(&c, h), "a pipe, which nobody writes to");
	compiler_end(&c);
	file_helper_close(h);
}

/* The kernel gives the PID of a process that has ended to another one. */
Test(jit_process, a_map_of_a_process_that_began_later_is_not_opened)
{
	struct file_helper *h = file_helper_new(program);
	const uint32_t self = (uint32_t)getpid();
	CLEANUP(mem_freep) char *path = mem_printf("/tmp/perf-%u.map", self);
	struct jit_process sampled = { .pid = self,
				       .sampled_ns = (uint64_t)clock_mono_ns(),
				       .map = -1 };
	struct jit_process j;
	int fd;

	jit_process_read(&j, self, h);
	cr_assert(j.start);
	cr_assert(j.map < 0);
	cr_expect(jit_process_is(&sampled, &j));
	sampled.sampled_ns -= 60000000000;
	cr_expect(!jit_process_is(&sampled, &j));
	make_file(path, geteuid());
	fd = jit_process_open(&j, h);
	cr_assert(fd >= 0);
	cr_expect(!close(fd));
	j.start--;
	cr_expect(jit_process_open(&j, h) < 0);
	cr_assert(!unlink(path));
	jit_process_fini(&j);
	file_helper_close(h);
}
