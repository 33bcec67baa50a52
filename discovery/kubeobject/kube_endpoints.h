/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The labels and the targets of endpoints and of endpoint slices, by their JSON.
 * kube_join.c adds the labels of their services, pods and nodes.
 *
 * Ownership: labels are copied to the builder.
 * Threads: one thread at a time.
 */
#ifndef DISCOVERY_KUBEOBJECT_KUBE_ENDPOINTS_H
#define DISCOVERY_KUBEOBJECT_KUBE_ENDPOINTS_H

#include "discovery/core/group_builder.h"

/* Adds those of endpoints to the open group. */
void kube_map_endpoints(struct group_builder *b,
			const struct yaml_node *object);

/* Adds those of an endpoint slice to the open group. */
void kube_map_slice(struct group_builder *b, const struct yaml_node *object);

#endif
