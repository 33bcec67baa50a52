/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credential plugins: programs that print the token or the client certificate
 * with which a client logs in to a Kubernetes API server.
 *
 * A plugin gets an empty standard input, and shares the standard error of this
 * process. If it runs for longer than EXEC_PLUGIN_MS, exec_plugin_expire()
 * kills it.
 *
 * Source: kubernetes.io/docs/reference/access-authn-authz/authentication,
 * "client-go credential plugins".
 *
 * Ownership: the caller owns a struct exec_plugin. It is freed before done() is
 * called, or by exec_plugin_cancel().
 * Threads: the loop of the HTTP client.
 */
#ifndef DISCOVERY_KUBERNETES_EXEC_PLUGIN_H
#define DISCOVERY_KUBERNETES_EXEC_PLUGIN_H

#include "base/yaml.h"
#include "client/transfer/http.h"

#define EXEC_PLUGIN_MS 60000

/* How a plugin is run; texts are borrowed. */
struct exec_plugin_config {
	const char *api_version;
	const char *command;
	char **args; /* with the command first, ended by NULL */
	/*
	 * variables of the plugin's environment, as "NAME=value"; ended by
	 * NULL. The plugin also gets all other environment variables that
	 * everprof itself has
	 */
	char **env;
	const char *hint; /* how to install the program; "": unknown */
};

/*
 * A credential that a plugin has printed. A text that the credential lacks is
 * empty.
 */
struct exec_credential {
	struct yaml y; /* owns the texts */
	struct str token;
	struct str certificate; /* PEM; set together with `key` */
	struct str key;
	int64_t expires_ms; /* Unix time; INT64_MAX: never */
};

struct exec_plugin;

/*
 * Called once, when a plugin has ended or was killed, but not after
 * exec_plugin_cancel(). `c` is the credential that the plugin has printed,
 * borrowed for the call. On an error, `c` is NULL, and `err` says why.
 */
typedef void (*exec_plugin_fn)(void *ctx, struct exec_credential *c,
			       const struct err *err);

/*
 * Start a plugin. If there is an error, `done` is not called, and *out is
 * NULL.
 */
NODISCARD int exec_plugin_start(struct http_client *client,
				const struct exec_plugin_config *c,
				exec_plugin_fn done, void *ctx,
				struct exec_plugin **out, struct err *err);

/*
 * If the plugin has run for too long, kill it, free `x`, call done() with an
 * error, and return 0. Otherwise, return for how many milliseconds the plugin
 * may still run.
 */
int64_t exec_plugin_expire(struct exec_plugin *x);

/*
 * Kill a plugin that is running, and free `x`; done() is not called. NULL is a
 * no-op.
 */
void exec_plugin_cancel(struct exec_plugin *x);

/*
 * Parse `text`, which a plugin has printed, into *c. On success the caller
 * calls yaml_fini() for c->y. ERR_INVALID: the text is not a complete
 * credential of the version `api_version`.
 */
NODISCARD int exec_credential_parse(struct bytes text, const char *api_version,
				    struct exec_credential *c, struct err *err);

#endif
