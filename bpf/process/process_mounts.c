/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Process mounts: which mounts of a process may be entered. Looking at a file
 * of a FUSE file system waits for its server, which may be any user's program.
 * Once the request was sent, the wait cannot be given up; even closing a file
 * waits. In a user namespace of their own, users may also mount an overlayfs
 * above FUSE; the overlayfs does not show that its files are of FUSE. So files
 * of FUSE are not looked at, and files of an overlayfs only if root has mounted
 * the overlayfs (docs/decisions.md, 196). No function here sends a request to
 * the file system of a process.
 *
 * The list of mounts is read while `place`, a descriptor of O_PATH for the
 * file, is open. The kernel reuses the number of a mount that is gone, but an
 * open descriptor keeps its mount, and so the number of this mount.
 */
#include "bpf/process/process_file.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/file_slurp.h"

/*
 * Largest size of the list of mounts in bytes. A mount takes about 150 bytes in
 * mountinfo; large machines have thousands of mounts.
 */
#define MOUNTS_MAX (16 << 20)

/* A line of the list of mounts. */
struct process_mount {
	uint32_t id;
	uint64_t device; /* major << 32 | minor */
	bool is_overlay;
	bool is_fuse;
};

/* Whether two results of stat() are about the same object of the kernel. */
static bool mounts_same_object(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/*
 * Whether the mount namespace of a process belongs to the user namespace of
 * everprof, so that only root can mount there. The answer may become false and
 * then true again: the process can leave its mount namespace while one of its
 * threads stays there. When that thread calls execve(), it takes over the PID
 * of the process, and so the process is in its old mount namespace again.
 */
static bool mounts_are_of_root(uint32_t pid)
{
	struct stat own;
	struct stat owner;
	char path[64];
	int mounts;
	int user = -1;
	bool same = false;

	snprintf(path, sizeof(path), "/proc/%u/ns/mnt", pid);
	mounts = open(path, O_RDONLY | O_CLOEXEC);
	if (mounts >= 0)
		user = ioctl(mounts, NS_GET_USERNS);
	if (user >= 0)
		same = !stat("/proc/self/ns/user", &own) &&
		       !fstat(user, &owner) && mounts_same_object(&own, &owner);
	if (user >= 0)
		close(user);
	if (mounts >= 0)
		close(mounts);
	return same;
}

/*
 * Parse a line of mountinfo: "36 35 98:0 /root /mount/point options optional… -
 * type source options". False: the line is malformed.
 */
static bool mounts_parse_line(char *line, struct process_mount *out)
{
	unsigned major;
	unsigned minor;
	const char *type = strstr(line, " - ");

	if (!type)
		return false;
	/* NOLINTNEXTLINE(cert-err34-c): the kernel prints unsigned numbers */
	if (sscanf(line, "%u %*u %u:%u", &out->id, &major, &minor) != 3)
		return false;
	type += 3;
	out->device = (uint64_t)major << 32 | minor;
	out->is_overlay = !strncmp(type, "overlay ", 8);
	out->is_fuse = !strncmp(type, "fuse", 4);
	return true;
}

/*
 * Open the list of the mounts that a process has, as they are seen from its
 * root. The list is that of the mount namespace and the root that the process
 * has at this moment, even if the process changes them before the list is read.
 * *of_root says whether this mount namespace belongs to the user namespace of
 * everprof. Because the process can change its mount namespace at any time, the
 * mount namespace is checked before and after the opening. Returns -1 if the
 * list cannot be opened.
 */
static int mounts_open(uint32_t pid, bool *of_root)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/mountinfo", pid);
	*of_root = mounts_are_of_root(pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	*of_root = *of_root && mounts_are_of_root(pid);
	return fd;
}

/* A callback for each mount. Returns true to end the visit. */
typedef bool mount_visitor(const struct process_mount *mount, void *ctx);

/*
 * Call visit() for each mount of a process, until a call returns true. False:
 * no call did, or the list cannot be read. *of_root as in mounts_open().
 */
static bool mounts_visit(uint32_t pid, mount_visitor *visit, void *ctx,
			 bool *of_root)
{
	struct buf text = buf_init(MOUNTS_MAX);
	int fd = mounts_open(pid, of_root);
	struct process_mount mount;
	char *rest;
	char *line;
	bool found = false;

	if (fd >= 0 && !file_slurp_fd(fd, "mountinfo", &text, NULL)) {
		buf_cstr(&text); /* ends it with NUL */
		rest = (char *)text.ptr;
		while (!found && (line = strtok_r(rest, "\n", &rest)))
			found = mounts_parse_line(line, &mount) &&
				visit(&mount, ctx);
	}
	if (fd >= 0)
		close(fd);
	buf_fini(&text);
	return found;
}

/*
 * Return the number of the mount that `place` is on, or 0 if it is not known.
 * No mount in a list of mounts has the number 0: the kernel gives this number
 * to a mount of its own, such as that of memfd_create().
 */
static uint32_t mounts_number(int place)
{
	struct buf text = buf_init(8192);
	unsigned id = 0;
	char path[64];
	const char *at;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", place);
	if (!file_slurp(path, &text, NULL)) {
		at = strstr(buf_cstr(&text), "mnt_id:");
		if (at)
			id = (unsigned)strtoul(at + 7, NULL, 10);
	}
	buf_fini(&text);
	return id;
}

/* Visitor: finds an overlay by its device. */
static bool mount_is_overlay_of(const struct process_mount *mount, void *device)
{
	return mount->is_overlay && mount->device == *(uint64_t *)device;
}

/* Visitor: finds a mount by its number, and copies it. */
static bool mount_is_numbered(const struct process_mount *mount, void *wanted)
{
	struct process_mount *w = wanted;

	if (mount->id != w->id)
		return false;
	*w = *mount;
	return true;
}

/*
 * Whether a mount may be entered. A mount of FUSE must not be entered.
 * `of_root` says whether the mount was found in the list of a mount namespace
 * that belongs to the user namespace of everprof. If not, an overlay may be
 * entered only if the first process of the machine sees the overlay: then root
 * has mounted it, as container engines do.
 */
static bool mounts_may_enter(struct process_mount *mount, bool of_root)
{
	bool unused;

	if (mount->is_fuse)
		return false;
	return !mount->is_overlay || of_root ||
	       mounts_visit(1, mount_is_overlay_of, &mount->device, &unused);
}

/*
 * Whether `place` is on the file system of memfd_create(), whose files are in
 * memory and on no mount that anyone sees.
 */
static bool mounts_is_in_memory(int place)
{
	int own = memfd_create("everprof", MFD_CLOEXEC);
	struct statx a;
	struct statx b;
	bool same;

	if (own < 0)
		return false;
	same = !statx(own, "", AT_EMPTY_PATH, STATX_TYPE, &a) &&
	       !statx(place, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE,
		      &b) &&
	       a.stx_dev_major == b.stx_dev_major &&
	       a.stx_dev_minor == b.stx_dev_minor;
	close(own);
	return same;
}

bool process_mounts_allow(uint32_t pid, int place)
{
	struct process_mount mount = { .id = mounts_number(place) };
	bool of_root;

	/*
	 * The list of the process may lack the mount of `place`: in a chroot,
	 * it lacks the mount that the root of the process is on. Then look in
	 * the list of process 1, which mostly has this mount.
	 */
	if (!mounts_visit(pid, mount_is_numbered, &mount, &of_root) &&
	    !mounts_visit(1, mount_is_numbered, &mount, &of_root))
		return mounts_is_in_memory(place);
	return mounts_may_enter(&mount, of_root);
}
