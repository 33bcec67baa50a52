/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the target groups of a Kubernetes discovery. The objects of the
 * configured role get labels of other objects. Endpoints and endpoint slices
 * get the labels of their service, and each of their targets gets the labels of
 * its pod. The other labels are added if attach_metadata asks for them: objects
 * get the labels of their namespace; pods, and the targets of endpoints and
 * slices, get the labels of their node, and the name of the workload
 * (Deployment, Job, CronJob) that controls the pod.
 *
 * Groups with labels of other objects are called joined groups. Joined groups
 * use the label lists of the objects that they are made of, so that labels are
 * stored once. The joined groups of an object are made again only when one of
 * the objects that they are made of has changed.
 *
 * Ownership: joined groups hold references to the groups of the objects that
 * they are made of.
 * Threads: the manager's loop.
 */
#ifndef DISCOVERY_KUBERNETES_KUBE_JOIN_H
#define DISCOVERY_KUBERNETES_KUBE_JOIN_H

#include "discovery/kubernetes/kube_config.h"
#include "discovery/kubernetes/kube_store.h"

/*
 * Append the target groups of the objects of the role c->role to `out`, which
 * gets a reference to each. Slices of the second IP family of a service are
 * left out. With the role pod, if attach_metadata.node and a selector for nodes
 * are set, pods that are not on one of the selected nodes are left out. Returns
 * the number of objects that lack the labels of other objects, because with
 * those labels the stores would exceed their memory limit.
 */
size_t kube_join_all(struct kube_stores *s, const struct kube_config *c,
		     struct target_groups_list *out);

#endif
