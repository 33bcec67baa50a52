/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Process file: opens a file that a process names, as the user of the process
 * could open it. The path begins at the root of the process, and symbolic links
 * are not followed. Only a regular file of a real file system is opened, and
 * only if the user may read it, and search all directories on the path. Access
 * control lists are not evaluated: a file or directory that has one may only be
 * used by its owner, and by root if root may read all files. Mounts of FUSE are
 * not entered (process_mounts.c). Everything is checked before the file is
 * opened (docs/decisions.md, 194).
 *
 * Ownership: the caller closes the descriptors.
 * Threads: any.
 */
#ifndef BPF_PROCESS_PROCESS_FILE_H
#define BPF_PROCESS_PROCESS_FILE_H

#include "base/buf.h"
#include "base/defs.h"
#include "bpf/process/process_user.h"

/*
 * The identity of a mapped file: a build ID, or a device and an inode. It shows
 * whether the file that is now at the path is still the mapped file. Only
 * `is_build_id` says which kind of identity it is, because both kinds may have
 * the same length.
 */
struct file_identity {
	/*
	 * false: `bytes` are a device and an inode, or empty, which fits any
	 * file
	 */
	bool is_build_id;
	struct bytes bytes; /* borrowed, or owned, as the holder says */
};

/*
 * Append the device and the inode of a file to `out`, as file_identity.bytes
 * has them.
 */
void file_inode_encode(struct buf *out, uint32_t major, uint32_t minor,
		       uint64_t inode);

/* What a file must be, apart from being readable for the user. */
struct process_file_wish {
	struct bytes inode; /* file_inode_encode(); empty: any */
	bool owned;         /* it belongs to the user */
};

/*
 * Open the file at `path` below the root of process `pid`, with the rights of
 * the user `u`. Returns -1 if that is not possible, the file is not as `wish`
 * demands, or the process has another user by now. If `pid` is the calling
 * process, `u` may be any user.
 */
int process_file_open(uint32_t pid, const char *path,
		      const struct process_user *u,
		      const struct process_file_wish *wish);

/*
 * Open the program that process `pid` runs, even if its file was removed.
 * Otherwise as process_file_open().
 */
int process_file_open_program(uint32_t pid, const struct process_user *u,
			      const struct process_file_wish *wish);

/*
 * Whether it is safe to call stat() and open() for a file or directory that
 * process `pid` sees: for a file of FUSE, these calls could wait for ever, see
 * process_mounts.c. `place` is a descriptor of O_PATH for the file or
 * directory. If `place` is on a mount that neither the process nor the first
 * process of the machine sees, it is safe only for a file of memfd_create(),
 * which the kernel keeps in memory.
 */
bool process_mounts_allow(uint32_t pid, int place);

#endif
