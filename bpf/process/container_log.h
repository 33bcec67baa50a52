/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the names of the containers of a Kubernetes node without the API of
 * Kubernetes: for each container, the kubelet makes a link with the name
 * POD_NAMESPACE_CONTAINER-ID.log in the directory CONTAINER_LOGS
 * (k8s.io/kubernetes, pkg/kubelet/kuberuntime/legacy.go).
 *
 * Threads: any.
 */
#ifndef BPF_PROCESS_CONTAINER_LOG_H
#define BPF_PROCESS_CONTAINER_LOG_H

#include "base/bytes.h"

/* The directory in which the kubelet makes the links. */
#define CONTAINER_LOGS "/var/log/containers"

/*
 * The parts of the name of a link, without the ID of the container. Kubernetes
 * permits at most 253 bytes for each part.
 */
struct container_log {
	char namespace[256];
	char pod[256];
	char container[256];
};

/*
 * Parse `name`, the name of a link. False: `name` does not have the form
 * POD_NAMESPACE_CONTAINER-ID.log, its ID is not `id`, or a part is too long.
 */
NODISCARD bool container_log_parse(struct str name, struct str id,
				   struct container_log *out);

/*
 * Find the link of the container `id` in the directory `dir`, and parse its
 * name. False: there is no such link, or `dir` is NULL or cannot be read.
 */
NODISCARD bool container_log_find(const char *dir, struct str id,
				  struct container_log *out);

#endif
