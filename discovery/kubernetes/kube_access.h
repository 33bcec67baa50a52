/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access to a Kubernetes API server: the URL of the server, and the options of
 * the HTTP client, which contain the credentials. Both come from the
 * configuration, from the service account of the pod that everprof runs in, or
 * from a kubeconfig file and its credential plugin.
 *
 * A kubeconfig file is read again when it has changed. The HTTP client reads
 * the token of a service account again when the file with the token has
 * changed.
 *
 * Source: kubernetes.io/docs/tasks/run-application/access-api-from-pod.
 *
 * Ownership: an access owns what kube_access_get() hands out, which is valid
 * until the next kube_access_get() or kube_access_reject().
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

/* Returned by kube_access_get() while a credential plugin runs. */
#define KUBE_ACCESS_PENDING 1

/*
 * Make an access. `api_server` is a URL, and `kubeconfig` is the path of a
 * kubeconfig file. If both are empty, the access comes from the service account
 * of the pod. The texts are copied. ready() is called when a credential plugin
 * has ended, with or without success, or was cancelled because the kubeconfig
 * file has changed.
 */
struct kube_access *kube_access_new(struct provider *p, struct str api_server,
				    struct str kubeconfig,
				    void (*ready)(struct provider *p));

/* Free an access, and kill its plugin. NULL is a no-op. */
void kube_access_free(struct kube_access *a);

/*
 * Set *login and return 0, or return KUBE_ACCESS_PENDING: a credential plugin
 * runs. When it has ended, ready() is called, and the caller calls this
 * function again.
 * Errors: the kubeconfig file cannot be used, the credential plugin has failed
 * or cannot be started, or the environment variables of a pod are missing.
 */
NODISCARD int kube_access_get(struct kube_access *a, struct kube_login *login,
			      struct err *err);

/*
 * Forget the credentials that a plugin has printed, because the API server has
 * refused them; the next kube_access_get() runs the plugin again. Credentials
 * that were printed less than five seconds ago are kept, so that the plugin
 * does not run all the time.
 */
void kube_access_reject(struct kube_access *a);

/*
 * Kill the plugin if it has run for too long. Returns for how many milliseconds
 * the plugin may still run; INT64_MAX: no plugin is running.
 */
int64_t kube_access_expire(struct kube_access *a);

/* Return the text that names the access in messages; borrowed. */
const char *kube_access_shown(const struct kube_access *a);

/*
 * Set *out to the namespace of the pod that everprof runs in; the caller owns
 * the text. Errors: there is no such pod, or its namespace cannot be read.
 */
NODISCARD int kube_own_namespace(char **out, struct err *err);

#endif
