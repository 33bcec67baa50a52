/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The labels and the target of a node, by its JSON. A second group has the
 * labels that pods and endpoints get.
 *
 * Ownership: labels are copied to the builder.
 * Threads: one thread at a time.
 */
#ifndef DISCOVERY_KUBEOBJECT_KUBE_NODE_H
#define DISCOVERY_KUBEOBJECT_KUBE_NODE_H

#include "discovery/core/group_builder.h"

/* Adds them to the open group. */
void kube_map_node(struct group_builder *b, const struct yaml_node *object);

#endif
