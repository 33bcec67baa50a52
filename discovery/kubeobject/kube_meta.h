/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The labels that all Kubernetes objects have in common, the names of labels
 * that several files use, and the functions that map each kind of object to
 * labels and targets.
 *
 * Source: prometheus.io/docs/prometheus/latest/configuration/configuration,
 * kubernetes_sd_config.
 *
 * Ownership: labels are copied to the builder.
 * Threads: one thread at a time.
 */
#ifndef DISCOVERY_KUBEOBJECT_KUBE_META_H
#define DISCOVERY_KUBEOBJECT_KUBE_META_H

#include "discovery/core/group_builder.h"

#define KUBE_META(name) "__meta_kubernetes_" name

#define KUBE_NAMESPACE_LABEL     KUBE_META("namespace")
#define KUBE_POD_CONTROLLER_KIND KUBE_META("pod_controller_kind")
#define KUBE_POD_CONTROLLER_NAME KUBE_META("pod_controller_name")
#define KUBE_POD_NODE            KUBE_META("pod_node_name")
#define KUBE_CONTAINER_NAME      KUBE_META("pod_container_name")
#define KUBE_CONTAINER_ID        KUBE_META("pod_container_id")
#define KUBE_CONTAINER_PORT      KUBE_META("pod_container_port_number")
#define KUBE_CONTAINER_PROTOCOL  KUBE_META("pod_container_port_protocol")
#define KUBE_ENDPOINT            KUBE_META("endpoint_")
#define KUBE_SLICE               KUBE_META("endpointslice_")
/* label in the second group of a dual-stack service: its first IP family */
#define KUBE_FIRST_FAMILY "first_ip_family"

/*
 * Add target labels for the name, the labels and the annotations of an object;
 * `prefix` is __meta_kubernetes_<kind>.
 */
void kube_add_meta(struct group_builder *b, const char *prefix,
		   const struct yaml_node *object);

/*
 * Add target labels for the labels and the annotations of an object; `prefix`
 * is __meta_kubernetes_<kind>.
 */
void kube_add_maps(struct group_builder *b, const char *prefix,
		   const struct yaml_node *object);

/* Add the label for the namespace of an object. */
void kube_add_namespace(struct group_builder *b,
			const struct yaml_node *object);

/*
 * Add the labels KUBE_POD_CONTROLLER_KIND and KUBE_POD_CONTROLLER_NAME, for the
 * controller that owns `object`; without a controller, add no label.
 */
void kube_add_controller(struct group_builder *b,
			 const struct yaml_node *object);

/*
 * Add the labels and targets of an object of the kind Endpoints to the group
 * that was begun last.
 */
void kube_map_endpoints(struct group_builder *b,
			const struct yaml_node *object);

/*
 * Add the labels and targets of an endpoint slice to the group that was begun
 * last.
 */
void kube_map_slice(struct group_builder *b, const struct yaml_node *object);

/* Add the labels and targets of an ingress to the group that was begun last. */
void kube_map_ingress(struct group_builder *b, const struct yaml_node *object);

/*
 * Add the labels and the target of a node to the group that was begun last.
 * Then begin a second group, with the labels that pods and endpoints get from
 * the node.
 */
void kube_map_node(struct group_builder *b, const struct yaml_node *object);

/* Add the labels and targets of a pod to the group that was begun last. */
void kube_map_pod(struct group_builder *b, const struct yaml_node *object);

/*
 * Add the labels and targets of a service to the group that was begun last. For
 * a dual-stack service, then begin a second group, with the label
 * KUBE_FIRST_FAMILY.
 */
void kube_map_service(struct group_builder *b, const struct yaml_node *object);

#endif
