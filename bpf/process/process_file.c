/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/process/process_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/dec.h"
#include "base/enc.h"
#include "base/mem.h"
#include "symbols/names/regular_file.h"

void file_inode_encode(struct buf *out, uint32_t major, uint32_t minor,
		       uint64_t inode)
{
	enc_be32(out, major);
	enc_be32(out, minor);
	enc_be64(out, inode);
}

/*
 * Whether stat() may show another device for the file `place` than the kernel
 * shows for a mapping of the file. On Btrfs, stat() shows the device of the
 * subvolume, and a mapping that of the whole file system. On overlayfs, up to
 * Linux 6.7, a mapping shows the device of the file system below overlayfs.
 */
static bool process_file_has_devices(int place)
{
	struct statfs fs;

	if (fstatfs(place, &fs))
		return false;
	return (uint32_t)fs.f_type == BTRFS_SUPER_MAGIC ||
	       (uint32_t)fs.f_type == OVERLAYFS_SUPER_MAGIC;
}

/*
 * Whether the file `place`, whose state is `st`, has the device and inode that
 * `inode` encodes (file_inode_encode()). If the devices cannot be compared, the
 * same inode is enough.
 */
static bool process_file_is(int place, const struct stat *st,
			    struct bytes inode)
{
	struct dec d = dec_init(inode);
	uint32_t device_major = dec_be32(&d);
	uint32_t device_minor = dec_be32(&d);

	if (dec_be64(&d) != st->st_ino || d.bad)
		return false;
	return (major(st->st_dev) == device_major &&
		minor(st->st_dev) == device_minor) ||
	       process_file_has_devices(place);
}

/*
 * Whether the file or directory `place` may have an access control list that
 * denies it to the user. A list denies nothing to a user who may read all
 * files, or who owns the file.
 */
static bool process_file_is_unsure(int place, const struct stat *st,
				   const struct process_user *u)
{
	return !u->reads_all && st->st_uid != u->uid &&
	       regular_file_has_list(place);
}

/*
 * A search for a file: the user and the process for which it is made, and what
 * is known of the last place that was reached.
 */
struct file_search {
	const struct process_user *user;
	uint32_t pid;
	/* the mount of that place is known to be one that may be entered */
	bool is_allowed;
};

/*
 * Return a descriptor of O_PATH for `name` in the directory `dir`, or -1 with
 * errno. Symbolic links are not followed, and the file itself is not opened.
 * `flags` and `resolve` are further flags of openat2().
 */
static int process_file_place(int dir, const char *name, uint64_t flags,
			      uint64_t resolve)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW | flags,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | resolve,
	};

	return (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));
}

/*
 * As process_file_place(), for one step of a search from `dir`. If the next
 * place is on the same mount as `dir`, s->is_allowed stays true, and the mount
 * need not be looked up again. On another mount, s->is_allowed becomes false.
 */
static int process_file_step(int dir, const char *name, uint64_t flags,
			     struct file_search *s)
{
	int next = process_file_place(dir, name, flags, RESOLVE_NO_XDEV);

	if (next < 0 && errno == EXDEV) {
		s->is_allowed = false;
		next = process_file_place(dir, name, flags, 0);
	}
	return next;
}

/*
 * Whether the place that was reached last is on a mount that may be entered;
 * see process_mounts_allow().
 */
static bool process_file_may_look(int place, struct file_search *s)
{
	if (!s->is_allowed)
		s->is_allowed = process_mounts_allow(s->pid, place);
	return s->is_allowed;
}

/*
 * Whether `dir` is on a mount that may be entered, and the user certainly may
 * search it.
 */
static bool process_file_may_search(int dir, struct file_search *s)
{
	const struct process_user *u = s->user;
	struct stat st;

	return process_file_may_look(dir, s) && !fstat(dir, &st) &&
	       process_user_may_search(u, &st) &&
	       !process_file_is_unsure(dir, &st, u);
}

/*
 * Walk along a path as the user could, one name at a time. Each directory is
 * checked, and the next name is looked up in it, through the same descriptor:
 * if the path of the directory were looked up twice, somebody could mount
 * another directory there in between. Takes `dir` over. Returns a descriptor of
 * O_PATH, or -1.
 */
static int process_file_walk(int dir, const char *path, struct file_search *s)
{
	CLEANUP(mem_freep) char *text = mem_strdup(path);
	char *rest = text;
	char *name;

	while (dir >= 0 && (name = strtok_r(rest, "/", &rest))) {
		bool is_last = rest[strspn(rest, "/")] == 0;
		int next = -1;

		if (process_file_may_search(dir, s))
			next = process_file_step(dir, name,
						 is_last ? 0 : O_DIRECTORY, s);
		close(dir);
		dir = next;
	}
	return dir;
}

/*
 * Open the file that `place`, a descriptor of O_PATH or -1, refers to, if the
 * user may read it and it is as `wish` demands. Otherwise, return -1. Closes
 * `place`.
 */
static int process_file_open_place(int place, struct file_search *s,
				   const struct process_file_wish *wish)
{
	const struct process_user *u = s->user;
	struct stat st;
	int fd = -1;

	if (place < 0)
		return -1;
	if (process_file_may_look(place, s) && !fstat(place, &st) &&
	    process_user_may_read(u, &st) &&
	    !process_file_is_unsure(place, &st, u) &&
	    (!wish->owned || st.st_uid == u->uid) &&
	    (!wish->inode.len || process_file_is(place, &st, wish->inode)))
		fd = regular_file_reopen(place);
	close(place);
	return fd;
}

/*
 * Whether `u` is still the user of process `pid`. Always true for the calling
 * process. If the process has another user by now, a link of /proc/PID that was
 * opened must not be used: the new user may have moved the process into a mount
 * namespace of their own, and the link may lead there. Files would then be
 * opened with the rights of `u` at places that the new user has chosen.
 */
static bool process_file_has_user(uint32_t pid, const struct process_user *u)
{
	struct process_user now;
	bool same;

	if (pid == (uint32_t)getpid())
		return true;
	process_user_read(&now, pid);
	same = process_user_same(u, &now);
	process_user_fini(&now);
	return same;
}

/*
 * Begin a search: open a link of /proc/PID with O_PATH. Returns -1 if that
 * fails, or if the process has another user by now.
 */
static int process_file_begin(struct file_search *s, uint32_t pid,
			      const struct process_user *u, const char *link,
			      int flags)
{
	char name[64];
	int place;

	*s = (struct file_search){ .user = u, .pid = pid };
	snprintf(name, sizeof(name), "/proc/%u/%s", pid, link);
	place = open(name, O_PATH | O_CLOEXEC | flags);
	if (place >= 0 && !process_file_has_user(pid, u)) {
		close(place);
		return -1;
	}
	return place;
}

int process_file_open(uint32_t pid, const char *path,
		      const struct process_user *u,
		      const struct process_file_wish *wish)
{
	struct file_search s;
	int place;

	if (*path != '/')
		return -1;
	place = process_file_begin(&s, pid, u, "root", O_DIRECTORY);
	place = process_file_walk(place, path, &s);
	return process_file_open_place(place, &s, wish);
}

int process_file_open_program(uint32_t pid, const struct process_user *u,
			      const struct process_file_wish *wish)
{
	struct file_search s;
	int place = process_file_begin(&s, pid, u, "exe", 0);

	return process_file_open_place(place, &s, wish);
}
