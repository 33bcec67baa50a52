/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The side band in this kernel: a child starts, runs another program, and ends.
 * Needs root or CAP_PERFMON; without it, it says so and tests nothing.
 */
#include <poll.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/kernel/side_band.h"
#include "tests/check.h"

TestSuite(side_band_kernel, .timeout = 120);

/* The reports about a child that have been read. */
struct child_reports {
	uint32_t pid;
	size_t forks;
	size_t programs;
	size_t mappings;
	size_t identified; /* mappings with a build ID or an inode */
	size_t ends;
	uint64_t lost;
	uint64_t time; /* of the last report of any process */
};

static void report_add(void *ctx, const struct side_band_record *r)
{
	struct child_reports *c = ctx;

	cr_expect(r->time >= c->time);
	c->time = r->time;
	if (r->kind == SIDE_BAND_LOST)
		c->lost += r->lost;
	if (r->pid != c->pid)
		return;
	c->forks += r->kind == SIDE_BAND_FORK &&
		    r->parent == (uint32_t)getpid();
	c->programs += r->kind == SIDE_BAND_EXEC && str_is(r->text, "true");
	c->ends += r->kind == SIDE_BAND_EXIT && r->tid == r->pid;
	if (r->kind != SIDE_BAND_MAP ||
	    !str_contains_nocase(r->text, str_of("/")))
		return;
	c->mappings++;
	c->identified += r->build_id.len || r->inode;
}

/* Open a side band; skip the test if this machine does not permit it. */
static struct side_band *side_band_or_skip(void)
{
	struct side_band *s = NULL;
	struct err err;
	int rc = side_band_open(&s, &err);

	if (rc == ERR_DENIED)
		check_skip("%s", err.msg);
	cr_assert(!rc, "%s", err.msg);
	return s;
}

Test(side_band_kernel, the_life_of_a_child_is_reported)
{
	struct side_band *s = side_band_or_skip();
	struct child_reports c = { 0 };
	struct pollfd waiting[64];
	size_t count;
	const int *fds;
	pid_t pid;

	pid = fork();
	if (!pid) {
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	c.pid = (uint32_t)pid;
	waitpid(pid, NULL, 0);
	fds = side_band_fds(s, &count);
	for (size_t i = 0; i < count && i < 64; i++)
		waiting[i] = (struct pollfd){ .fd = fds[i], .events = POLLIN };
	cr_expect(poll(waiting, count < 64 ? count : 64, 60000) > 0);
	cr_expect(side_band_is_ready(s));
	while (!c.ends)
		side_band_drain(s, report_add, &c);
	/* true, ld.so and libc */
	cr_assert(c.forks == 1, "%zu forks, %zu programs, %zu mappings",
		  c.forks, c.programs, c.mappings);
	cr_assert(c.programs == 1, "%zu forks, %zu programs, %zu mappings",
		  c.forks, c.programs, c.mappings);
	cr_expect(c.mappings >= 3, "%zu forks, %zu programs, %zu mappings",
		  c.forks, c.programs, c.mappings);
	cr_expect(c.identified == c.mappings);
	cr_expect(!c.lost);
	side_band_close(s);
}

/* The buffers go round several times, and nothing is lost while it is read. */
Test(side_band_kernel, many_children)
{
	enum {
		CHILDREN = 2000,
	};
	struct side_band *s = side_band_or_skip();
	struct child_reports c = { 0 };
	size_t missed = 0;

	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(0);
		c.pid = (uint32_t)pid;
		c.forks = 0;
		c.ends = 0;
		waitpid(pid, NULL, 0);
		side_band_drain(s, report_add, &c);
		missed += c.forks != 1 || c.ends != 1;
	}
	cr_assert(!missed, "%zu missed, %zu lost", missed, (size_t)c.lost);
	cr_expect(!c.lost, "%zu missed, %zu lost", missed, (size_t)c.lost);
	side_band_close(s);
}
