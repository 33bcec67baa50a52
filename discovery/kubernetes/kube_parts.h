/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of an object: the objects from which its groups take labels. Each
 * object has itself and its namespace as parts. A pod also has its node and its
 * ReplicaSet or Job. Endpoints and slices also have their service and their
 * pods, with the node and the ReplicaSet or Job of each of these pods.
 *
 * Ownership: parts are borrowed from the stores.
 * Threads: the manager's loop.
 */
#ifndef DISCOVERY_KUBERNETES_KUBE_PARTS_H
#define DISCOVERY_KUBERNETES_KUBE_PARTS_H

#include "discovery/kubernetes/kube_config.h"
#include "discovery/kubernetes/kube_store.h"

/*
 * How a target of endpoints, or of slices, refers to its pod, its node and a
 * port: the names of the labels, and which label names the node.
 */
struct endpoint_names {
	/* label with the kind of the object that has the target's address */
	const char *kind;
	const char *name;
	const char *node;
	const char *port; /* NULL: the port is part of __address__ */
	/*
	 * label whose value replaces that of KUBE_CONTAINER_PROTOCOL; NULL:
	 * none
	 */
	const char *protocol;
	/*
	 * which label names the node, if the target's address belongs to an
	 * object of kind Node. true: the label `node` or, if `node` is absent,
	 * the label `name`. false: the label `name`
	 */
	bool node_first;
};

/*
 * The parts of one pod: their offsets from the first part of the pod; see
 * PART_PODS.
 */
enum {
	POD_NODE,
	POD_REPLICASET,
	POD_JOB,
	POD_PARTS
};

/* The indexes of the parts in kube_parts.v. */
enum {
	PART_OWN,
	PART_NAMESPACE,
	PART_SERVICE, /* only of endpoints and slices */
	/*
	 * From here on: for a pod, its POD_PARTS parts; for endpoints, 1 +
	 * POD_PARTS parts for each target: its pod and the parts of this pod.
	 */
	PART_PODS
};

/*
 * The parts of one object (`v`), and what is needed to find them. An element of
 * `v` is NULL if this part does not exist, is not known or is not wanted.
 */
struct kube_parts {
	const struct kube_stores *s;
	const struct kube_config *c;
	const struct endpoint_names *
		/* NULL: the role is neither endpoints nor endpointslice */
		names;
	struct str namespace; /* of the object */
	VEC(struct target_groups *) v;
};

/* Initialize `p`, to find the parts of objects of the role c->role. */
void kube_parts_init(struct kube_parts *p, const struct kube_stores *s,
		     const struct kube_config *c);

/* Set p->v to the parts of the object whose groups are `own`. */
void kube_parts_find(struct kube_parts *p, struct target_groups *own);

/*
 * Return the value of the label `name` of the list `l` (but not of l->rest);
 * empty: there is no such label.
 */
struct str kube_list_label(const struct label_list *l, const char *name);

/*
 * Return the value of the label `name` of the first group in `g`; empty: there
 * is no such label, or `g` is NULL.
 */
struct str kube_object_label(const struct target_groups *g, const char *name);

#endif
