/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files are opened for a process only if its user could open them. The processes
 * and users of these tests are this process, and numbers that nobody has.
 */
#include "bpf/process/process_file.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/mem.h"
#include "tests/check.h"
#include "tests/tempdir.h"

TestSuite(process_file, .timeout = 60);

enum {
	STRANGER = 54321
};

static const struct process_file_wish any = { .owned = false };

/* Make a file with these rights. */
static char *file_of(const struct tempdir *d, const char *name, mode_t mode)
{
	char *path = mem_printf("%s/%s", d->path, name);
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	cr_assert(fd >= 0);
	cr_assert(write(fd, "text", 4) == 4);
	cr_assert(!fchmod(fd, mode));
	close(fd);
	return path;
}

/* Whether the stranger gets a file of this process, and not another one. */
static bool gets(const char *path, const struct process_file_wish *wish)
{
	const struct process_user u = { .uid = STRANGER, .is_whole = true };
	int fd = process_file_open((uint32_t)getpid(), path, &u, wish);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

Test(process_file, only_what_the_user_may_read_is_opened)
{
	struct tempdir d = tempdir_make();
	CLEANUP(mem_freep) char *open_file = file_of(&d, "open", 0644);
	CLEANUP(mem_freep) char *closed = file_of(&d, "closed", 0600);
	CLEANUP(mem_freep) char *group = file_of(&d, "group", 0640);

	cr_assert(!chmod(d.path, 0755));
	cr_expect(gets(open_file, &any));
	cr_assert(!gets(closed, &any));
	cr_expect(!gets(group, &any));
	cr_expect(
		!gets(open_file, &(struct process_file_wish){ .owned = true }),
		"it belongs to another user");
	cr_assert(!chmod(d.path, 0700));
	cr_expect(!gets(open_file, &any), "the user cannot reach it");
	cr_assert(!chmod(d.path, 0711));
	cr_expect(gets(open_file, &any));
	tempdir_fini(&d);
}

/* Mounts of root may be crossed, and each is looked up. */
Test(process_file, files_on_another_mount_are_opened)
{
	CLEANUP(mem_freep)
	char *path = mem_printf("/dev/shm/everprof-%d", (int)getpid());
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);

	if (fd < 0)
		check_skip("there is no /dev/shm");
	cr_assert(write(fd, "text", 4) == 4);
	cr_expect(!gets(path, &any));
	cr_assert(!fchmod(fd, 0644));
	close(fd);
	cr_expect(gets(path, &any));
	cr_assert(!unlink(path));
}

Test(process_file, links_devices_and_pseudo_files_are_never_opened)
{
	struct tempdir d = tempdir_make();
	CLEANUP(mem_freep) char *real = file_of(&d, "real", 0644);
	CLEANUP(mem_freep) char *link = mem_printf("%s/link", d.path);
	CLEANUP(mem_freep) char *sub = mem_printf("%s/sub", d.path);
	CLEANUP(mem_freep) char *through = mem_printf("%s/sub/real", d.path);
	CLEANUP(mem_freep) char *pipe = mem_printf("%s/pipe", d.path);

	cr_assert(!chmod(d.path, 0755));
	cr_assert(!symlink(real, link));
	cr_assert(!symlink(d.path, sub));
	cr_assert(!mkfifo(pipe, 0666));
	cr_expect(gets(real, &any));
	cr_expect(!gets(link, &any), "a link to a file");
	cr_expect(!gets(through, &any), "a link on the way");
	cr_assert(!gets(pipe, &any));
	cr_expect(!gets(d.path, &any));
	cr_assert(!gets("/dev/null", &any));
	cr_expect(!gets("/dev/zero", &any));
	cr_assert(!gets("/proc/version", &any));
	cr_expect(!gets("/proc/kmsg", &any));
	cr_assert(!gets("relative", &any));
	cr_expect(!gets("", &any));
	tempdir_fini(&d);
}

/* An access control list may deny what the mode allows. */
Test(process_file, files_with_an_access_control_list_are_for_their_owner)
{
	/* The version; then tag, rights and user of each entry (acl(5)). */
	static const uint16_t list[] = {
		2,    0,                 /* version */
		0x01, 6, 0xffff, 0xffff, /* owner: rw */
		0x02, 4, 7,      0,      /* user 7: r */
		0x04, 0, 0xffff, 0xffff, /* group: nothing */
		0x10, 4, 0xffff, 0xffff, /* mask: r */
		0x20, 4, 0xffff, 0xffff, /* others: r */
	};
	struct tempdir d = tempdir_make();
	CLEANUP(mem_freep) char *path = file_of(&d, "file", 0644);
	struct process_user owner = { .uid = geteuid() };
	int fd;

	cr_assert(!chmod(d.path, 0755));
	if (setxattr(path, "system.posix_acl_access", list, sizeof(list), 0))
		fprintf(stderr, "SKIPPED: no access control lists here\n");
	else
		cr_expect(!gets(path, &any));
	fd = process_file_open((uint32_t)getpid(), path, &owner, &any);
	cr_assert(fd >= 0);
	cr_expect(!close(fd));
	tempdir_fini(&d);
}

/* A process that begins as root may become another user's. */
Test(process_file, the_root_of_a_process_with_another_user_is_not_entered)
{
	struct tempdir d = tempdir_make();
	CLEANUP(mem_freep) char *path = file_of(&d, "file", 0644);
	struct process_user now = { 0 };
	struct process_user u;
	int ends[2];
	int fd;
	pid_t pid;

	if (geteuid()) {
		fprintf(stderr, "SKIPPED: only root becomes another user\n");
		tempdir_fini(&d);
		return;
	}
	cr_assert(!chmod(d.path, 0755));
	cr_assert(!pipe(ends));
	pid = fork();
	if (!pid) {
		char byte = 0;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (read(ends[0], &byte, 1) != 1 || setuid(STRANGER))
			_exit(1);
		pause();
		_exit(0);
	}
	process_user_read(&u, (uint32_t)pid);
	fd = process_file_open((uint32_t)pid, path, &u, &any);
	cr_assert(fd >= 0);
	cr_expect(!close(fd));
	fd = process_file_open_program((uint32_t)pid, &u, &any);
	cr_assert(fd >= 0);
	cr_expect(!close(fd));
	cr_assert(write(ends[1], "x", 1) == 1);
	do {
		process_user_fini(&now);
		usleep(1000);
		process_user_read(&now, (uint32_t)pid);
	} while (process_user_same(&u, &now));
	process_user_fini(&now);
	cr_expect(process_file_open((uint32_t)pid, path, &u, &any) < 0);
	cr_expect(process_file_open_program((uint32_t)pid, &u, &any) < 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	process_user_fini(&u);
	tempdir_fini(&d);
}

/* The mount that the root of such a process is on is not in its list. */
Test(process_file, files_of_a_process_in_a_chroot_are_opened)
{
	struct tempdir d = tempdir_make();
	CLEANUP(mem_freep) char *path = file_of(&d, "file", 0644);
	struct process_user u;
	int ends[2];
	char byte = 0;
	int fd;
	pid_t pid;

	if (geteuid()) {
		fprintf(stderr, "SKIPPED: only root may change its root\n");
		tempdir_fini(&d);
		return;
	}
	cr_assert(!chmod(d.path, 0755));
	cr_assert(!pipe(ends));
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (chroot(d.path) || chdir("/") || write(ends[1], "y", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	close(ends[1]);
	cr_assert(read(ends[0], &byte, 1) == 1);
	process_user_read(&u, (uint32_t)pid);
	fd = process_file_open((uint32_t)pid, "/file", &u, &any);
	cr_assert(fd >= 0);
	cr_expect(!close(fd));
	cr_expect(process_file_open((uint32_t)pid, path, &u, &any) < 0,
		  "it is not there");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	process_user_fini(&u);
	tempdir_fini(&d);
}

/* What a process mounts in namespaces of its own. */
struct mounter {
	int namespaces; /* for unshare() */
	bool is_fuse;   /* else overlayfs */
};

/* Write a small file of /proc. */
static bool proc_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool good = fd >= 0 &&
		    write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return good;
}

/* Mount `dir`/lower on `dir`/merged as overlayfs, or FUSE without a server. */
static bool mounter_mount(const struct mounter *m, const char *dir)
{
	CLEANUP(mem_freep) char *merged = mem_printf("%s/merged", dir);
	CLEANUP(mem_freep) char *options = NULL;

	if (unshare(m->namespaces) ||
	    (m->namespaces & CLONE_NEWUSER &&
	     (!proc_write("/proc/self/setgroups", "deny") ||
	      !proc_write("/proc/self/uid_map", "0 0 1") ||
	      !proc_write("/proc/self/gid_map", "0 0 1"))))
		return false;
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return false;
	if (!m->is_fuse) {
		options = mem_printf("lowerdir=%s/lower:%s/merged", dir, dir);
		return !mount("overlay", merged, "overlay", 0, options);
	}
	options = mem_printf("fd=%d,rootmode=40000,user_id=0,group_id=0",
			     open("/dev/fuse", O_RDWR));
	return !mount("fuse", merged, "fuse", 0, options);
}

/* Start a process that mounts, and then waits. Returns 0 if it cannot mount. */
static pid_t mounter_start(const struct mounter *m, const char *dir)
{
	int ends[2];
	char byte = 0;
	pid_t pid;

	cr_assert(!pipe(ends));
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		byte = mounter_mount(m, dir) ? 'y' : 'n';
		if (write(ends[1], &byte, 1) == 1)
			pause();
		_exit(0);
	}
	close(ends[1]);
	cr_assert(read(ends[0], &byte, 1) == 1);
	close(ends[0]);
	if (byte == 'y')
		return pid;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}

/*
 * The test ends in time only if nothing asks FUSE, as its server answers never.
 */
Test(process_file, what_a_user_may_have_mounted_is_not_entered)
{
	static const struct {
		struct mounter m;
		bool allowed;
	} cases[] = {
		{ { CLONE_NEWNS, .is_fuse = true }, false },
		{ { CLONE_NEWNS, .is_fuse = false }, true },
		{ { CLONE_NEWNS | CLONE_NEWUSER, .is_fuse = false }, false },
	};
	struct tempdir d = tempdir_make();
	CLEANUP(mem_freep) char *lower = mem_printf("%s/lower", d.path);
	CLEANUP(mem_freep) char *merged = mem_printf("%s/merged", d.path);
	CLEANUP(mem_freep) char *inside = mem_printf("%s/merged/file", d.path);
	CLEANUP(mem_freep) char *file = NULL;

	cr_assert(!mkdir(lower, 0755));
	cr_assert(!mkdir(merged, 0755));
	file = file_of(&d, "lower/file", 0644);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		pid_t pid = mounter_start(&cases[i].m, d.path);
		struct process_user u;
		int fd;

		if (!pid) {
			fprintf(stderr, "SKIPPED: mount %zu is not permitted\n",
				i);
			continue;
		}
		process_user_read(&u, (uint32_t)pid);
		fd = process_file_open((uint32_t)pid, file, &u, &any);
		cr_assert(fd >= 0, "%zu", i);
		cr_expect(!close(fd), "%zu", i);
		fd = process_file_open((uint32_t)pid, inside, &u, &any);
		cr_expect((fd >= 0) == cases[i].allowed, "%zu", i);
		if (fd >= 0)
			close(fd);
		process_user_fini(&u);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	tempdir_fini(&d);
}

Test(process_file, a_file_that_was_replaced_is_not_opened)
{
	struct tempdir d = tempdir_make();
	CLEANUP(mem_freep) char *path = file_of(&d, "file", 0644);
	struct buf identity = { 0 };
	struct process_file_wish wish;
	struct stat st;

	cr_assert(!chmod(d.path, 0755));
	cr_assert(!stat(path, &st));
	file_inode_encode(&identity, major(st.st_dev), minor(st.st_dev),
			  st.st_ino);
	wish = (struct process_file_wish){ .inode = buf_bytes(&identity) };
	cr_expect(gets(path, &wish));
	mem_free(file_of(&d, "other", 0644));
	{
		CLEANUP(mem_freep) char *other = mem_printf("%s/other", d.path);

		cr_assert(!rename(other, path));
	}
	cr_expect(!gets(path, &wish));
	buf_fini(&identity);
	tempdir_fini(&d);
}

/* The user 65534 may have files of its own. */
Test(process_file, nobody_owns_no_file)
{
	struct tempdir d = tempdir_make();
	struct process_user u;
	char *path;
	int fd;

	if (geteuid())
		check_skip("another user needs root");
	path = file_of(&d, "file", 0600);
	cr_assert(!chmod(d.path, 0755));
	cr_assert(!chown(path, 65534, 65534));
	process_user_init(&u);
	cr_expect(process_file_open((uint32_t)getpid(), path, &u, &any) < 0);
	/* Whoever it was may be in the group, or be the owner. */
	cr_assert(!chmod(path, 0604));
	cr_expect(process_file_open((uint32_t)getpid(), path, &u, &any) < 0);
	cr_assert(!chmod(path, 0044));
	cr_expect(process_file_open((uint32_t)getpid(), path, &u, &any) < 0);
	cr_assert(!chmod(path, 0444));
	fd = process_file_open((uint32_t)getpid(), path, &u, &any);
	cr_assert(fd >= 0);
	cr_expect(!close(fd));
	process_user_fini(&u);
	mem_free(path);
	tempdir_fini(&d);
}

/* Give up the right to read all files; the process stays one of root. */
static bool drop_rights(void)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	const struct __user_cap_data_struct none[2] = { { 0 }, { 0 } };

	return !syscall(SYS_capset, &header, none);
}

/* Root reads all files by its capabilities, which a process may lack. */
Test(process_file, root_without_capabilities_is_a_user)
{
	struct tempdir d = tempdir_make();
	CLEANUP(mem_freep) char *strange = file_of(&d, "strange", 0604);
	CLEANUP(mem_freep) char *own = file_of(&d, "own", 0600);
	struct process_user u;
	int ends[2];
	char byte;
	int fd;
	pid_t pid;

	if (geteuid())
		check_skip("only root has another user's files");
	cr_assert(!chown(strange, 7, 0));
	cr_assert(!chmod(strange, 0604));
	cr_assert(!pipe(ends));
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (setgid(0) || !drop_rights() || write(ends[1], "y", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	close(ends[1]);
	cr_assert(read(ends[0], &byte, 1) == 1);
	process_user_read(&u, (uint32_t)getpid());
	fd = process_file_open((uint32_t)getpid(), strange, &u, &any);
	cr_assert(fd >= 0, "by its capabilities");
	cr_expect(!close(fd), "by its capabilities");
	process_user_fini(&u);
	process_user_read(&u, (uint32_t)pid);
	cr_assert(!u.uid);
	cr_expect(!u.reads_all);
	cr_expect(process_file_open((uint32_t)pid, strange, &u, &any) < 0,
		  "its group lacks the right");
	fd = process_file_open((uint32_t)pid, own, &u, &any);
	cr_assert(fd >= 0);
	cr_expect(!close(fd));
	process_user_fini(&u);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	tempdir_fini(&d);
}

Test(process_file, the_program_of_a_process_is_opened_for_its_user)
{
	struct process_user u;
	int fd;

	process_user_read(&u, (uint32_t)getpid());
	cr_assert(u.uid == geteuid());
	cr_expect(u.groups.count >= 1);
	fd = process_file_open_program((uint32_t)getpid(), &u, &any);
	cr_assert(fd >= 0);
	cr_expect(!close(fd));
	process_user_fini(&u);
	process_user_read(&u, 0x3fffffff);
	cr_expect(u.uid == PROCESS_USER_NOBODY, "the process is gone");
	cr_expect(process_file_open_program(0x3fffffff, &u, &any) < 0);
	process_user_fini(&u);
}

Test(process_file, rights_are_those_of_owner_group_or_others)
{
	static const struct {
		uint32_t uid;
		uint32_t gid;
		mode_t mode;
		bool read;
		bool search;
	} cases[] = {
		{ 7, 8, 0400, true, false },  { 7, 8, 0100, false, true },
		{ 7, 8, 0077, false, false }, { 1, 9, 0040, true, false },
		{ 1, 9, 0707, false, false }, { 1, 10, 0010, false, true },
		{ 1, 2, 0004, true, false },  { 1, 2, 0770, false, false },
		{ 1, 2, 0001, false, true },
	};
	struct process_user u = { .uid = 7, .is_whole = true };
	const struct process_user root = { .uid = 0, .reads_all = true };

	*vec_add(&u.groups) = 9;
	*vec_add(&u.groups) = 10;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct stat st = { .st_uid = cases[i].uid,
					 .st_gid = cases[i].gid,
					 .st_mode = S_IFREG | cases[i].mode };

		cr_expect(process_user_may_read(&u, &st) == cases[i].read,
			  "%zu", i);
		cr_expect(process_user_may_search(&u, &st) == cases[i].search,
			  "%zu", i);
		cr_expect(process_user_may_read(&root, &st), "%zu", i);
	}
	process_user_fini(&u);
}

/* A group that was not read may be one without the right. */
Test(process_file, rights_of_others_need_all_groups_to_be_known)
{
	struct process_user u = { .uid = 7 };
	struct stat st = { .st_uid = 1,
			   .st_gid = 8,
			   .st_mode = S_IFREG | 0604 };

	*vec_add(&u.groups) = 9;
	cr_expect(!process_user_may_read(&u, &st));
	st.st_mode = S_IFREG | 0044;
	cr_expect(process_user_may_read(&u, &st));
	st.st_gid = 9;
	st.st_mode = S_IFREG | 0040;
	cr_expect(process_user_may_read(&u, &st));
	process_user_fini(&u);
}
