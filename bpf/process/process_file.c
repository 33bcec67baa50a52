/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/process/process_file.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/enc.h"
#include "base/mem.h"
#include "symbols/regular_file.h"

void file_inode_encode(struct buf *out, uint32_t major, uint32_t minor,
		       uint64_t inode)
{
	enc_be32(out, major);
	enc_be32(out, minor);
	enc_be64(out, inode);
}

/* Whether a file has the identity of a device and an inode. */
static bool process_file_is(const struct stat *st, struct bytes identity)
{
	struct buf own = { 0 };
	bool same;

	file_inode_encode(&own, major(st->st_dev), minor(st->st_dev),
			  st->st_ino);
	same = bytes_eq(buf_bytes(&own), identity);
	buf_fini(&own);
	return same;
}

/* Open a descriptor of O_PATH below a root. Links fail; nothing is opened. */
static int process_file_place(int root, const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW | flags,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS,
	};

	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

/* Whether the user may search the directory at a path. */
static bool process_file_may_search(int root, const char *path,
				    const struct process_user *u)
{
	int fd = process_file_place(root, path, O_DIRECTORY);
	struct stat st;
	bool may = fd >= 0 && !fstat(fd, &st) &&
		   process_user_may_search(u, &st);

	if (fd >= 0)
		close(fd);
	return may;
}

/* Whether the user may reach a path. */
static bool process_file_may_reach(int root, const char *path,
				   const struct process_user *u)
{
	CLEANUP(mem_freep) char *text = mem_strdup(path);
	bool may = process_file_may_search(root, "/", u);

	for (char *slash = strchr(text + 1, '/'); slash && may;
	     slash = strchr(slash + 1, '/')) {
		*slash = 0;
		may = process_file_may_search(root, text, u);
		*slash = '/';
	}
	return may;
}

/* Open what a descriptor of O_PATH, which is closed, refers to, if it may be. */
static int process_file_open_place(int place, const struct process_user *u,
				   const struct process_file_wish *wish)
{
	struct stat st;
	int fd = -1;

	if (place < 0)
		return -1;
	if (!fstat(place, &st) && process_user_may_read(u, &st) &&
	    (!wish->owned || st.st_uid == u->uid) &&
	    (wish->identity.len != FILE_INODE_LEN ||
	     process_file_is(&st, wish->identity)))
		fd = regular_file_reopen(place);
	close(place);
	return fd;
}

int process_file_open(uint32_t pid, const char *path,
		      const struct process_user *u,
		      const struct process_file_wish *wish)
{
	char name[64];
	int root;
	int fd = -1;

	if (*path != '/')
		return -1;
	snprintf(name, sizeof(name), "/proc/%u/root", pid);
	root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -1;
	if (process_file_may_reach(root, path, u))
		fd = process_file_open_place(process_file_place(root, path, 0),
					     u, wish);
	close(root);
	return fd;
}

int process_file_open_program(uint32_t pid, const struct process_user *u,
			      const struct process_file_wish *wish)
{
	char name[64];

	snprintf(name, sizeof(name), "/proc/%u/exe", pid);
	return process_file_open_place(open(name, O_PATH | O_CLOEXEC), u, wish);
}
