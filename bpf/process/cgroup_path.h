/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parser of the path of a cgroup: it finds the systemd unit and the container
 * to which the processes of the cgroup belong. Container runtimes put the ID of
 * a container, 64 hexadecimal digits, into the name of the container's cgroup,
 * which is an element of the path. The names of systemd's units end with
 * ".service" and the like (systemd.unit(5)). Of several units or containers,
 * the innermost one counts.
 *
 * Ownership: the results borrow from the path or text.
 * Threads: any.
 */
#ifndef BPF_PROCESS_CGROUP_PATH_H
#define BPF_PROCESS_CGROUP_PATH_H

#include "base/bytes.h"

enum {
	CONTAINER_ID_LEN = 64,
	/* Length of the short form of a container ID, as docker(1) shows it. */
	CONTAINER_SHORT_LEN = 12,
};

/*
 * What cgroup_path_of() finds in a path. A text is empty if the path has no
 * such element.
 */
struct cgroup_path {
	struct str unit;      /* "nginx.service", "session-3.scope" */
	struct str container; /* ID of CONTAINER_ID_LEN digits */
	bool kubernetes;      /* an element begins with "kubepods" */
};

/* Parse the path of a cgroup. */
struct cgroup_path cgroup_path_of(struct str path);

/*
 * Return the path of the cgroup of a process. `text` is the content of
 * /proc/PID/cgroup, which has a path for each hierarchy. Three of them are
 * tried in this order: the path in the hierarchy of version 2, in that of the
 * controller cpu, and in that of systemd (name=systemd). The first one that
 * exists and is not "/" is returned. If there is none, "/" is returned.
 */
struct str cgroup_path_find(struct str text);

/*
 * As cgroup_path_find(), but return the empty text if the path is not known. It
 * is not known if `text` is empty, because nothing was read. It is not known
 * either if `has_program` is false and the path is "/": a process that is
 * ending has no program any more, and in hierarchies of version 1 the kernel
 * shows "/" in place of its cgroup. Threads of the kernel in "/" have no
 * program either, so their path counts as not known, too.
 */
struct str cgroup_path_of_process(struct str text, bool has_program);

#endif
