/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parser of the path of a cgroup: it finds the systemd unit and the container
 * to which the processes of the cgroup belong. Container runtimes and the
 * kubelet put the ID of a container, 64 hexadecimal digits, into the name of
 * the container's cgroup, which is an element of the path. The names of
 * systemd's units end with ".service" and the like (systemd.unit(5)). Of
 * several units or containers, the innermost one counts.
 *
 * Ownership: the results borrow from the path or text.
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
 * Return the path of the cgroup of a process. `text` is the content of
 * /proc/PID/cgroup, which has a path for each hierarchy. The first path that
 * exists and is not "/" counts, in this order: hierarchy of version 2,
 * controller cpu, systemd. If there is none, return "/".
 */
struct str cgroup_path_find(struct str text);

/*
 * The same, but return the empty text if the path is not known: either `text`
 * is empty, because nothing was read, or the process is ending. A process that
 * is ending has no program any more (`has_program` is false), and in
 * hierarchies of version 1 the kernel shows "/" in place of its cgroup. Threads
 * of the kernel in "/" have no program either, so their path counts as not
 * known, too.
 */
struct str cgroup_path_of_process(struct str text, bool has_program);

#endif
