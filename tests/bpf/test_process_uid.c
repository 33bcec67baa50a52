/* SPDX-License-Identifier: Apache-2.0 */
/* The user of a process: when it is asked for, and when a guess stays. */
#include "bpf/process/process_uid.h"

#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/process/process_user.h"
#include "tests/check.h"

TestSuite(process_uid, .timeout = 60);

enum {
	/* More groups than there is room for in what is read of a status. */
	GROUPS = 10000,
	USER = 54321,
};

static gid_t groups[GROUPS];

/* Start a process of a user that is not dumpable. */
static pid_t process_of(uid_t uid)
{
	struct process_user now;
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (setgroups(GROUPS, groups) || setuid(uid) ||
		    prctl(PR_SET_DUMPABLE, 0))
			_exit(1);
		for (;;)
			pause();
	}
	do {
		usleep(1000);
		process_user_read(&now, (uint32_t)pid);
		process_user_fini(&now);
	} while (now.uid != uid);
	return pid;
}

static void end_process(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static bool may_run(void)
{
	for (gid_t i = 0; i < GROUPS; i++)
		groups[i] = 100000 + i;
	if (geteuid())
		fprintf(stderr, "SKIPPED: only root has other users\n");
	return !geteuid();
}

Test(process_uid, it_is_read_once_for_each_program)
{
	struct process_uid u = process_uid_init();
	pid_t pid;

	if (!may_run())
		return;
	pid = process_of(USER);
	cr_expect(process_uid_find(&u, (uint32_t)pid) == USER);
	u.uid = 7;
	cr_expect(process_uid_find(&u, (uint32_t)pid) == 7, "not again");
	u = process_uid_guess(u);
	cr_expect(process_uid_find(&u, (uint32_t)pid) == USER);
	end_process(pid);
	/* It has ended before it was asked for: it had the user of its parent. */
	u = process_uid_guess(u);
	cr_expect(process_uid_find(&u, (uint32_t)pid) == USER);
	u = process_uid_init();
	cr_expect(process_uid_find(&u, (uint32_t)pid) == PROCESS_UID_GONE);
}

/* Nobody can make the status so long that the user is not found. */
Test(process_uid, groups_are_read_as_far_as_there_is_room)
{
	struct process_user user;
	pid_t pid;

	if (!may_run())
		return;
	pid = process_of(USER);
	process_user_read(&user, (uint32_t)pid);
	cr_assert(user.uid == USER);
	cr_expect(user.groups.count > 100);
	cr_assert(user.groups.count < GROUPS);
	cr_expect(!user.is_whole);
	/* The first one is that of the process; none of the others is cut. */
	for (uint32_t i = 1; i < user.groups.count; i++)
		cr_expect(user.groups.v[i] == 99999 + i);
	process_user_fini(&user);
	end_process(pid);
}
