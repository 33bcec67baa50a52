/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores the known objects of each resource as compact target groups, by
 * namespace and name.
 *
 * Ownership: a store owns its objects, and each object holds a reference to its
 * groups.
 * Threads: the manager's loop.
 */
#ifndef DISCOVERY_KUBERNETES_KUBE_STORE_H
#define DISCOVERY_KUBERNETES_KUBE_STORE_H

#include "discovery/core/group_compact.h"
#include "discovery/kubeobject/kube_resource.h"

/* Maximum bytes of all objects of a discovery, with their joined groups. */
#define KUBE_BYTES_MAX (512 * MIB)

/* A Kubernetes object, kept as target groups. */
struct kube_object {
	char *key; /* namespace/name, or /name */
	/* target groups of the object itself (see kube_resource.h) */
	struct target_groups *own;
	/*
	 * `own` together with the labels of other objects (see kube_join.h);
	 * NULL: not made yet, not needed, or too large
	 */
	struct target_groups *joined;
	/*
	 * number of the list that was the watch's newest list when the object
	 * was last put into the store; see kube_store_sweep()
	 */
	uint32_t list;
};

/* The objects of one resource. */
struct kube_store {
	VEC(struct kube_object) objects;
	struct table by_key;
};

/* The objects of all resources of a discovery. */
struct kube_stores {
	struct kube_store of[KUBE_RESOURCES];
	struct text_pool *texts;
	struct group_builder builder;
	size_t bytes;     /* bytes of all objects, `own` and `joined` */
	size_t bytes_max; /* KUBE_BYTES_MAX, except in tests */
	/* objects have changed since the owner cleared this mark */
	bool changed;
};

/* Begin without objects. */
void kube_stores_init(struct kube_stores *s);

/* Free all objects. */
void kube_stores_fini(struct kube_stores *s);

/*
 * Add or replace an object. `list` is the number of the watch's newest list,
 * which may be in progress. ERR_INVALID: the object has no name. ERR_TOOBIG:
 * the labels of the object's targets exceed TARGET_GROUPS_BYTES_MAX, or all
 * objects together would exceed s->bytes_max; an older version of the object is
 * then removed.
 */
NODISCARD int kube_store_put(struct kube_stores *s, enum kube_resource_id id,
			     const struct yaml_node *object, uint32_t list,
			     struct err *err);

/* Remove an object, if it is known. */
void kube_store_remove(struct kube_stores *s, enum kube_resource_id id,
		       const struct yaml_node *object);

/*
 * Replace the joined groups of an object by `joined`, which may be NULL; take
 * over the reference to `joined`.
 */
void kube_object_join(struct kube_stores *s, struct kube_object *o,
		      struct target_groups *joined);

/*
 * Remove the objects that list number `list` did not have; if `namespace` is
 * not empty, remove only objects in `namespace`.
 */
void kube_store_sweep(struct kube_stores *s, enum kube_resource_id id,
		      struct str namespace, uint32_t list);

/*
 * Return the member `own` of an object, borrowed; NULL: the object is not
 * known.
 */
struct target_groups *kube_store_find(const struct kube_stores *s,
				      enum kube_resource_id id,
				      struct str namespace, struct str name);

#endif
