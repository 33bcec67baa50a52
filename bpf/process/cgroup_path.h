/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parser of the path of a cgroup: it finds the systemd unit or the container of
 * its processes. Container runtimes and the kubelet put the ID of a container,
 * 64 hexadecimal digits, into the last element of the path; systemd's units end
 * with ".service" and the like (systemd.unit(5)).
 *
 * Ownership: borrows from the path.
 * Threads: any.
 */
#ifndef BPF_PROCESS_CGROUP_PATH_H
#define BPF_PROCESS_CGROUP_PATH_H

#include "base/bytes.h"

enum {
	CONTAINER_ID_LEN = 64,
	/* Length of the shortened form, as docker(1) shows it. */
	CONTAINER_SHORT_LEN = 12,
};

/* The parts of a path; empty if it does not have them. */
struct cgroup_path {
	struct str unit;      /* "nginx.service", "session-3.scope" */
	struct str container; /* ID of CONTAINER_ID_LEN digits */
	bool kubernetes;      /* the container belongs to a pod */
};

/* Take a path apart. */
struct cgroup_path cgroup_path_of(struct str path);

/*
 * Return the path of the cgroup of a process, from the text of
 * /proc/PID/cgroup. This is the path in the hierarchy of version 2; if that is
 * "/", the path of the controller cpu; if that is "/", too, the path of
 * systemd.
 */
struct str cgroup_path_find(struct str text);

/*
 * The same, but return the empty text if the path is not known: either nothing
 * was read, or the process is ending. A process that is ending has no program
 * any more, and in hierarchies of version 1 the kernel shows "/" in place of
 * its cgroup.
 */
struct str cgroup_path_of_process(struct str text, bool has_program);

#endif
