/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Process mounts: which mounts of a process may be entered. A look at a file of
 * a FUSE file system waits for a server, which may be any user's, and cannot be
 * given up once the request was sent; even closing a file waits. In a user
 * namespace of their own, users may also mount FUSE below overlayfs, which hides
 * it. So files are looked for only on other file systems, and on overlayfs only
 * if root has mounted it (docs/decisions.md, 196). Nothing here asks a file
 * system.
 *
 * The list of mounts is read when the descriptor is open: the kernel gives the
 * number of a mount that is gone to a new one, and an open descriptor keeps its
 * mount, and so the number.
 *
 * Ownership: plain values.
 * Threads: one thread at a time for each.
 * Source: proc(5), /proc/PID/mountinfo and /proc/PID/fdinfo.
 */
#ifndef BPF_PROCESS_PROCESS_MOUNTS_H
#define BPF_PROCESS_PROCESS_MOUNTS_H

#include "base/defs.h"

/* The mounts of a process. */
struct process_mounts {
	uint32_t pid;
	uint32_t allowed; /* number of the mount that was allowed last, or 0 */
};

/* Begin with a process. Nothing is read. */
void process_mounts_init(struct process_mounts *m, uint32_t pid);

/*
 * Whether a file or directory may be looked at, of which there is a descriptor
 * of O_PATH. One on a mount that neither the process nor the first process of
 * the machine sees may not, unless the kernel keeps it in memory (memfd). A
 * descriptor that is looked for in an
 * allowed directory must be opened before that of the directory is closed.
 */
bool process_mounts_allow(struct process_mounts *m, int place);

#endif
