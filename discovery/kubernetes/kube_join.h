/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the target groups of a Kubernetes discovery. Each object of its role
 * gets labels of other objects: a pod those of its namespace, node and
 * workload, and endpoints those of their service and pods.
 *
 * Groups use the label lists of the objects that they are made of, so that
 * labels are stored once. The groups of an object are made again only when one
 * of these objects has changed.
 *
 * Ownership: groups hold references to the groups of the objects.
 * Threads: the manager's loop.
 */
#ifndef DISCOVERY_KUBERNETES_KUBE_JOIN_H
#define DISCOVERY_KUBERNETES_KUBE_JOIN_H

#include "discovery/kubernetes/kube_config.h"
#include "discovery/kubernetes/kube_store.h"

/*
 * Append the target groups of all objects of the role, with references.
 * Returns the number of objects that lack the labels of others, because these
 * would exceed the memory limit of the stores.
 */
size_t kube_join_all(struct kube_stores *s, const struct kube_config *c,
		     struct target_groups_list *out);

#endif
