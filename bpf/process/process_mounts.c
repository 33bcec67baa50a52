/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/process/process_mounts.h"

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

/* A mount has about 150 bytes in mountinfo; large machines have thousands. */
#define MOUNTS_MAX (16 << 20)

/* Whether two paths are the same object of the kernel. */
static bool mounts_same_object(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/*
 * Whether the mounts that a process has belong to the user namespace of this
 * process. A process that has left such mounts cannot come back to them.
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
 * type source options". False: it is another text.
 */
static bool mounts_parse_line(char *line, struct process_mount *out)
{
	unsigned major;
	unsigned minor;
	const char *type = strstr(line, " - ");

	if (!type ||
	    sscanf(line, "%u %*u %u:%u", &out->id, &major, &minor) != 3)
		return false;
	type += 3;
	out->device = (uint64_t)major << 32 | minor;
	out->is_overlay = !strncmp(type, "overlay ", 8);
	out->is_fuse = !strncmp(type, "fuse", 4);
	return true;
}

/* Add the mounts that a process sees to the list. */
static void mounts_read_list(struct process_mounts *m, uint32_t pid)
{
	struct buf text = buf_init(MOUNTS_MAX);
	char path[64];
	char *rest;
	char *line;

	snprintf(path, sizeof(path), "/proc/%u/mountinfo", pid);
	if (!file_slurp(path, &text, NULL)) {
		buf_cstr(&text); /* ends it with NUL */
		rest = (char *)text.ptr;
		while ((line = strtok_r(rest, "\n", &rest))) {
			struct process_mount mount;

			if (mounts_parse_line(line, &mount))
				*vec_add(&m->list) = mount;
		}
	}
	buf_fini(&text);
}

void process_mounts_read(struct process_mounts *m, uint32_t pid)
{
	*m = (struct process_mounts){ .of_root = false };
	mounts_read_list(m, pid);
	/* After the list, because a process may leave its mounts meanwhile. */
	m->of_root = mounts_are_of_root(pid);
}

void process_mounts_fini(struct process_mounts *m)
{
	vec_fini(&m->list);
}

/* The number of the mount that a descriptor is on, which no mount has: 0. */
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

/*
 * Whether the first process of the machine sees an overlay with this device:
 * only root can have mounted it there. Container engines do.
 */
static bool mounts_are_seen_by_init(uint64_t device)
{
	struct process_mounts m = { .of_root = false };
	bool found = false;

	mounts_read_list(&m, 1);
	for (size_t i = 0; i < m.list.count; i++)
		found |= m.list.v[i].is_overlay && m.list.v[i].device == device;
	process_mounts_fini(&m);
	return found;
}

/* Whether a file is kept in memory, on no mount that anyone sees. */
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

bool process_mounts_allow(const struct process_mounts *m, int place)
{
	uint32_t id = mounts_number(place);

	for (size_t i = 0; i < m->list.count; i++) {
		const struct process_mount *mount = &m->list.v[i];

		if (mount->id != id)
			continue;
		if (mount->is_fuse)
			return false;
		return !mount->is_overlay || m->of_root ||
		       mounts_are_seen_by_init(mount->device);
	}
	return mounts_is_in_memory(place);
}
