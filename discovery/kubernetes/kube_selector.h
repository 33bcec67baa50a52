/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The syntax of Kubernetes' selectors, to find mistakes before the API server
 * does.
 *
 * Source: kubernetes.io/docs/concepts/overview/working-with-objects, "Labels
 * and Selectors" and "Field Selectors".
 *
 * Threads: pure functions.
 */
#ifndef DISCOVERY_KUBERNETES_KUBE_SELECTOR_H
#define DISCOVERY_KUBERNETES_KUBE_SELECTOR_H

#include "base/bytes.h"

/*
 * Return whether a text is a label selector: empty, or requirements with commas
 * between them, such as "tier=web,env in (a, b),!canary,cores>4".
 */
bool kube_is_label_selector(struct str text);

/*
 * Return whether a text is a field selector: empty, or requirements with commas
 * between them, such as "spec.nodeName=a,status.phase!=Failed".
 */
bool kube_is_field_selector(struct str text);

#endif
