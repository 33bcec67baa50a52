/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The labels and the targets of a pod, by its JSON: one for each port of a
 * container, or for a container without ports.
 *
 * Ownership: labels are copied to the builder.
 * Threads: one thread at a time.
 */
#ifndef DISCOVERY_KUBEOBJECT_KUBE_POD_H
#define DISCOVERY_KUBEOBJECT_KUBE_POD_H

#include "discovery/core/group_builder.h"

/* Adds them to the open group. */
void kube_map_pod(struct group_builder *b, const struct yaml_node *object);

#endif
