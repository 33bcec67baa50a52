/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access to a Kubernetes API server: its URL, and the HTTP client's options
 * with the credentials, from the configuration, from the service account of the
 * pod that everprof runs in, or from a kubeconfig file and its credential
 * plugin.
 *
 * A kubeconfig file is read again when it has changed. The token of a service
 * account is read again by the HTTP client when its file has changed.
 *
 * Source: kubernetes.io/docs/tasks/run-application/access-api-from-pod.
 *
 * Ownership: an access owns what it hands out, until the next kube_access_get().
 * Threads: the manager's loop.
 */
#ifndef DISCOVERY_KUBERNETES_KUBE_ACCESS_H
#define DISCOVERY_KUBERNETES_KUBE_ACCESS_H

#include "client/transfer/http_config.h"
#include "discovery/core/provider.h"

/* The folder of a pod's service account. */
#define KUBE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

struct kube_access;

/* How the API server is reached. */
struct kube_login {
	const char *url; /* base URL, without a slash at its end */
	struct http_config *http;
};

/* Returned while a credential plugin runs. */
#define KUBE_ACCESS_PENDING 1

/*
 * Make an access. `api_server` and `kubeconfig` are borrowed; if both are
 * empty, the service account of the pod is used. ready() is called when a
 * credential plugin has ended, with or without success, or was cancelled
 * because the kubeconfig file has changed.
 */
struct kube_access *kube_access_new(struct provider *p, struct str api_server,
				    struct str kubeconfig,
				    void (*ready)(struct provider *p));

/* Free an access, and kill its plugin. NULL is a no-op. */
void kube_access_free(struct kube_access *a);

/*
 * Set *login and return 0, or return KUBE_ACCESS_PENDING: a credential plugin
 * runs, and ready() will be called.
 * Errors: the kubeconfig file, the credential plugin or the environment of the
 * pod is not as it should be.
 */
NODISCARD int kube_access_get(struct kube_access *a, struct kube_login *login,
			      struct err *err);

/*
 * Forget the credentials of a plugin, unless they are new, so that the plugin
 * is run again. Called after the API server has refused them.
 */
void kube_access_reject(struct kube_access *a);

/*
 * Kill a plugin that has run for too long. Returns for how many milliseconds a
 * plugin may still run; INT64_MAX: none is running.
 */
int64_t kube_access_expire(struct kube_access *a);

/* Return the text for messages; borrowed. */
const char *kube_access_shown(const struct kube_access *a);

/*
 * Set *out to the namespace of the pod that everprof runs in; the caller owns
 * the text. Errors: there is no such pod, or its namespace cannot be read.
 */
NODISCARD int kube_own_namespace(char **out, struct err *err);

#endif
