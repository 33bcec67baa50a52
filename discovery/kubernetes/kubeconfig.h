/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubeconfig files: where an API server is, and how a client logs in.
 *
 * Source: kubernetes.io/docs/reference/config-api/kubeconfig.v1.
 *
 * Ownership: a struct kubeconfig owns the texts of its members; copies of
 * `http` and `exec` borrow these texts.
 * Threads: one thread at a time.
 */
#ifndef DISCOVERY_KUBERNETES_KUBECONFIG_H
#define DISCOVERY_KUBERNETES_KUBECONFIG_H

#include "client/transfer/http_options.h"
#include "discovery/kubernetes/exec_plugin.h"

/* The current context of a kubeconfig file: its server, and how to log in. */
struct kubeconfig {
	struct yaml y;
	char *server; /* base URL; in the document's arena */
	/*
	 * options of the client; they have a token, a password or headers only
	 * if the URL has https
	 */
	struct http_options http;
	bool has_exec; /* credentials come from a program */
	struct exec_plugin_config exec;
};

/*
 * Read the file `path`. On success the caller calls kubeconfig_fini().
 * ERR_INVALID: the file is not a kubeconfig file, names a context, cluster or
 * user that it does not have, has options that are incomplete or contradict
 * each other, or asks for a way to log in that is not supported. Other errors
 * come from reading the file.
 */
NODISCARD int kubeconfig_read(struct kubeconfig *k, const char *path,
			      struct err *err);

/*
 * Read the kubeconfig file `path` and the files that it names, and forget their
 * contents; for checks of a configuration. Errors are those of
 * kubeconfig_read() and http_config_load().
 */
NODISCARD int kubeconfig_try(const char *path, struct err *err);

/* Free the texts. */
void kubeconfig_fini(struct kubeconfig *k);

#endif
