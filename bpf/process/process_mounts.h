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
 * Ownership: process_mounts_fini() frees the list.
 * Threads: one thread at a time for each.
 * Source: proc(5), /proc/PID/mountinfo and /proc/PID/fdinfo.
 */
#ifndef BPF_PROCESS_PROCESS_MOUNTS_H
#define BPF_PROCESS_PROCESS_MOUNTS_H

#include "base/vec.h"

/* A mount of a process. */
struct process_mount {
	uint32_t id;
	uint64_t device; /* major << 32 | minor */
	bool is_overlay;
	bool is_fuse;
};

struct process_mounts {
	VEC(struct process_mount) list;
	bool of_root; /* only root can mount there */
};

/*
 * Read the mounts of a process, as they are seen from its root. The list is
 * empty if the process has ended.
 */
void process_mounts_read(struct process_mounts *m, uint32_t pid);

/* Free the list. */
void process_mounts_fini(struct process_mounts *m);

/*
 * Whether a file or directory may be looked at, of which there is a descriptor
 * of O_PATH. One on a mount that is not in the list may not, unless the kernel
 * keeps it in memory (memfd).
 */
bool process_mounts_allow(const struct process_mounts *m, int place);

#endif
