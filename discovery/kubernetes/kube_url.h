/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The URLs of the lists and watches of a resource of Kubernetes.
 *
 * Source: kubernetes.io/docs/reference/using-api/api-concepts.
 *
 * Ownership: everything is borrowed.
 * Threads: the manager's loop.
 */
#ifndef DISCOVERY_KUBERNETES_KUBE_URL_H
#define DISCOVERY_KUBERNETES_KUBE_URL_H

#include "discovery/kubernetes/kube_watch.h"

/* Writes the URL of the resource of a watch. */
void kube_url_write_path(const struct kube_watch *w, const char *server,
			 struct buf *url);

/* Adds the parameters of a page of a list. */
void kube_url_add_list(const struct kube_watch *w, struct buf *url);

/*
 * Adds the parameters of a watch, and returns its length in ms. Watches do not
 * all end at the same time.
 */
int64_t kube_url_add_watch(const struct kube_watch *w, struct buf *url);

/* Adds the selectors of the configuration. */
void kube_url_add_selectors(const struct kube_watch *w, struct buf *url);

#endif
