/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The labels and the targets of a service, by its JSON: one for each port. A
 * second group says which IP family is the first one.
 *
 * Ownership: labels are copied to the builder.
 * Threads: one thread at a time.
 */
#ifndef DISCOVERY_KUBEOBJECT_KUBE_SERVICE_H
#define DISCOVERY_KUBEOBJECT_KUBE_SERVICE_H

#include "discovery/core/group_builder.h"

/* Adds them to the open group. */
void kube_map_service(struct group_builder *b, const struct yaml_node *object);

#endif
