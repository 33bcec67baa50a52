/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session with a Kubernetes API server: all watches of a discovery, and the
 * objects that they have found.
 *
 * Ownership: a session owns its watches and stores; the caller owns the session.
 * Threads: the manager's loop.
 */
#ifndef DISCOVERY_KUBERNETES_KUBE_SESSION_H
#define DISCOVERY_KUBERNETES_KUBE_SESSION_H

#include "discovery/kubernetes/kube_access.h"
#include "discovery/kubernetes/kube_config.h"
#include "discovery/kubernetes/kube_watch.h"

/* A session. */
struct kube_session {
	struct provider *p;
	const struct kube_config *config;
	struct kube_access *access;
	struct kube_stores stores;
	VEC(struct kube_watch *) watches;
	size_t lists;       /* number of lists in progress */
	uint32_t last_list; /* number of the last list */
	bool is_lacking;    /* objects lack the labels of others: no memory */
};

/* Begins a session without watches. */
void kube_session_init(struct kube_session *s, struct provider *p);

/* Ends all watches, and frees the stores. */
void kube_session_fini(struct kube_session *s);

/* Adds a watch for a resource in a namespace; empty: in all of them. */
void kube_session_add(struct kube_session *s, enum kube_resource_id id,
		      struct str namespace);

/*
 * Starts the requests that are due. Returns for how many milliseconds no other
 * will be, or INT64_MAX.
 */
int64_t kube_session_run(struct kube_session *s);

/* Makes the watches that wait for credentials due. */
void kube_session_wake(struct kube_session *s);

/* Reports that nothing fails any more, if that is so. */
void kube_session_recover(const struct kube_session *s);

/* Returns whether each watch has listed its objects once. */
bool kube_session_is_synced(const struct kube_session *s);

#endif
