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
 * Ownership: nothing is kept.
 * Threads: any.
 * Source: proc(5), /proc/PID/mountinfo and /proc/PID/fdinfo.
 */
#ifndef BPF_PROCESS_PROCESS_MOUNTS_H
#define BPF_PROCESS_PROCESS_MOUNTS_H

#include "base/defs.h"

/*
 * Whether a file or directory that a process sees, and of which there is a
 * descriptor of O_PATH, may be looked at. One on a mount that neither the process
 * nor the first process of the machine sees may not, unless the kernel keeps it in
 * memory (memfd).
 */
bool process_mounts_allow(uint32_t pid, int place);

#endif
