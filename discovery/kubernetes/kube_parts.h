/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects from which the groups of one object take labels: the namespace,
 * node and workload of a pod, and the service and the pods of endpoints.
 *
 * Ownership: parts are borrowed from the stores.
 * Threads: the manager's loop.
 */
#ifndef DISCOVERY_KUBERNETES_KUBE_PARTS_H
#define DISCOVERY_KUBERNETES_KUBE_PARTS_H

#include "discovery/kubernetes/kube_config.h"
#include "discovery/kubernetes/kube_store.h"

/* The labels of endpoints, or of slices, that name other objects. */
struct endpoint_names {
	const char *kind; /* of the object that an address belongs to */
	const char *name;
	const char *node;
	const char *port; /* NULL: the port is part of __address__ */
	/* overrides the protocol of the container's port, unless NULL */
	const char *protocol;
	bool node_first; /* `node` counts before an object of the kind Node */
};

/* The objects that a pod gets labels from. */
enum {
	POD_NODE,
	POD_REPLICASET,
	POD_JOB,
	POD_PARTS
};

/* The parts of joined groups. */
enum {
	PART_OWN,
	PART_NAMESPACE,
	PART_SERVICE, /* only of endpoints and slices */
	/*
	 * From here on: for a pod, its POD_PARTS parts; for endpoints, the pod
	 * of each target and the parts of this pod.
	 */
	PART_PODS
};

/* The objects from which the groups of one object are made. */
struct kube_parts {
	const struct kube_stores *s;
	const struct kube_config *c;
	const struct endpoint_names *names; /* of the role; NULL: others */
	struct str namespace;               /* of the object */
	VEC(struct target_groups *) v;
};

/* Begin to find parts of objects that have the role of a configuration. */
void kube_parts_init(struct kube_parts *p, const struct kube_stores *s,
		     const struct kube_config *c);

/* Find the parts of an object. */
void kube_parts_find(struct kube_parts *p, struct target_groups *own);

/* Return the value of a label of a list; empty: none. */
struct str kube_list_label(const struct label_list *l, const char *name);

/* Return a label of the group of an object; empty: none, or no object. */
struct str kube_object_label(const struct target_groups *g, const char *name);

#endif
