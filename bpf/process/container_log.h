/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the containers of a Kubernetes node, without its API: the kubelet
 * makes a link POD_NAMESPACE_CONTAINER-ID.log for each container
 * (k8s.io/kubernetes, pkg/kubelet/kuberuntime/legacy.go).
 *
 * Threads: any.
 */
#ifndef BPF_PROCESS_CONTAINER_LOG_H
#define BPF_PROCESS_CONTAINER_LOG_H

#include "base/bytes.h"

/* The kubelet's directory. */
#define CONTAINER_LOGS "/var/log/containers"

/* Names of a container. Kubernetes permits at most 253 bytes for each. */
struct container_log {
	char namespace[256];
	char pod[256];
	char container[256];
};

/* Parse the name of a link. False: it is not a link of the container `id`. */
NODISCARD bool container_log_parse(struct str name, struct str id,
				   struct container_log *out);

/*
 * Find the link of the container `id` in the directory `dir`, and parse its
 * name. False: there is no such link, or `dir` is NULL or cannot be read.
 */
NODISCARD bool container_log_find(const char *dir, struct str id,
				  struct container_log *out);

#endif
