/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The resources of Kubernetes that a discovery lists and watches, and the
 * functions that make target groups of an object.
 *
 * Every object is turned into target groups, even if its resource has no
 * targets, because other objects use its labels. The first group has the labels
 * and targets of the object itself. Nodes and dual-stack services have a second
 * group, without targets, with labels for other objects.
 *
 * Source: kubernetes.io/docs/reference/kubernetes-api, and
 * prometheus.io/docs/prometheus/latest/configuration/configuration,
 * kubernetes_sd_config.
 *
 * Ownership: labels are copied to the builder.
 * Threads: one thread at a time; the tables are constants.
 */
#ifndef DISCOVERY_KUBEOBJECT_KUBE_RESOURCE_H
#define DISCOVERY_KUBEOBJECT_KUBE_RESOURCE_H

#include "discovery/core/group_builder.h"

/* A resource. Resources before KUBE_ROLES can be the role of a discovery. */
enum kube_resource_id {
	KUBE_NODE,
	KUBE_POD,
	KUBE_SERVICE,
	KUBE_ENDPOINTS,
	KUBE_ENDPOINTSLICE,
	KUBE_INGRESS,
	KUBE_ROLES,
	KUBE_NAMESPACE = KUBE_ROLES,
	KUBE_REPLICASET,
	KUBE_JOB,
	KUBE_RESOURCES
};

/*
 * How the objects of a resource are requested, and turned into target groups.
 */
struct kube_resource {
	const char *role; /* name in the configuration; NULL: not a role */
	const char *api;  /* path of the API group and version */
	const char *name; /* last part of the resource's path */
	bool namespaced;
	/*
	 * Adds the labels and targets of an object to the group that was begun
	 * last. If the object has a second group, begins this group and adds
	 * its labels.
	 */
	void (*map)(struct group_builder *b, const struct yaml_node *object);
};

/* The resources, by enum kube_resource_id. */
extern const struct kube_resource kube_resources[KUBE_RESOURCES];

#endif
