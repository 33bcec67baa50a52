/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Process file: opens a file that a process names, as the user of the process
 * could open it: below the root of the process, without following symbolic
 * links, and only regular files of real file systems that the user may read,
 * through directories that the user may search. Access control lists are not
 * evaluated: a file or directory that has one may only be used by its owner,
 * and by root. Everything is checked before the file is opened
 * (docs/decisions.md, 194).
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
 * The identity of a mapped file, which shows whether a file at its path is the
 * same one: a build ID, or a device and an inode. Only `is_build_id` says which
 * of the two it is, because both may have the same length.
 */
struct file_identity {
	/* false: a device and an inode, or no bytes, for any file */
	bool is_build_id;
	struct bytes bytes; /* borrowed, or owned, as the holder says */
};

/* Encode the device and the inode of a file as an identity. */
void file_inode_encode(struct buf *out, uint32_t major, uint32_t minor,
		       uint64_t inode);

/* What a file has to be, besides readable for the user. */
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
 * Whether it is safe to look at a file or directory that process `pid` sees: a
 * look at FUSE could wait for ever, see process_mounts.c. `place` is a
 * descriptor of O_PATH for the file or directory. If it is on a mount that
 * neither the process nor the first process of the machine sees, it may be
 * looked at only if the kernel keeps it in memory (memfd).
 */
bool process_mounts_allow(uint32_t pid, int place);

#endif
