/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/kubernetes/kube_access.h"

#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/env.h"
#include "base/file_slurp.h"
#include "base/mem.h"
#include "client/address/endpoint.h"
#include "discovery/kubernetes/kubeconfig.h"

#define NAMESPACE_MAX 256 /* longest name of a namespace, in bytes */

/*
 * Minimum pause before a plugin runs again. The pause applies if the plugin has
 * failed, or if the credential that it has printed has expired already or is
 * refused by the API server.
 */
#define PLUGIN_PAUSE_NS 5000000000LL

/*
 * Where an access comes from: the key api_server, the service account of the
 * pod, or a kubeconfig file.
 */
enum kube_origin {
	KUBE_CONFIGURED,
	KUBE_IN_CLUSTER,
	KUBE_CONFIG_FILE
};

/* The access of one provider to an API server. */
struct kube_access {
	struct provider *p;
	void (*ready)(struct provider *p);
	enum kube_origin origin;
	char *path;              /* of the kubeconfig file */
	struct file_stamp stamp; /* stamp of that file when it was read last */
	struct kubeconfig file;  /* not read if file.server is NULL */
	char *url;               /* NULL: not known yet */
	char *shown;
	struct http_config *http;   /* NULL: not known, or out of date */
	struct exec_plugin *plugin; /* NULL: none is running */
	int64_t expires_ms;         /* of a plugin's credential */
	int64_t pause_ns;  /* end of the pause after the last run of a plugin */
	struct err failed; /* error of the last run; code 0: none */
};

struct kube_access *kube_access_new(struct provider *p, struct str api_server,
				    struct str kubeconfig,
				    void (*ready)(struct provider *p))
{
	struct kube_access *a = mem_new(struct kube_access);

	a->p = p;
	a->ready = ready;
	a->expires_ms = INT64_MAX;
	a->origin = KUBE_IN_CLUSTER;
	if (kubeconfig.len) {
		a->origin = KUBE_CONFIG_FILE;
		a->path = mem_strndup(kubeconfig);
		a->shown = mem_strndup(kubeconfig);
	} else if (api_server.len) {
		a->origin = KUBE_CONFIGURED;
		a->url = mem_strndup(api_server);
		a->shown = endpoint_url_shown(a->url);
		a->http = http_config_new(&p->config->http);
	} else {
		a->shown = mem_strdup("the cluster of this pod");
	}
	return a;
}

/* Forget the options of the HTTP client, with the credentials. */
static void access_forget(struct kube_access *a)
{
	http_config_unref(a->http);
	a->http = NULL;
	a->expires_ms = INT64_MAX;
}

/* Forget the kubeconfig file, and cancel its plugin. */
static void access_drop_file(struct kube_access *a)
{
	exec_plugin_cancel(a->plugin);
	a->plugin = NULL;
	access_forget(a);
	if (a->file.server)
		kubeconfig_fini(&a->file);
}

void kube_access_free(struct kube_access *a)
{
	if (!a)
		return;
	access_drop_file(a);
	mem_free(a->path);
	mem_free(a->url);
	mem_free(a->shown);
	mem_free(a);
}

const char *kube_access_shown(const struct kube_access *a)
{
	return a->shown;
}

/*
 * Set the URL from the environment variables of a pod, and the options from the
 * files of its service account.
 */
static int access_set_pod(struct kube_access *a, struct err *err)
{
	const char *host = env_find("KUBERNETES_SERVICE_HOST");
	const char *port = env_find("KUBERNETES_SERVICE_PORT");
	struct http_options o;

	if (!host || !port)
		return err_set(
			err, ERR_INVALID,
			"unable to load in-cluster configuration: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined; outside of a pod, set api_server or kubeconfig_file");
	http_options_init(&o);
	o.auth = HTTP_AUTH_HEADER;
	o.credentials.file = str_of(KUBE_ACCOUNT_DIR "/token");
	o.tls.ca.file = str_of(KUBE_ACCOUNT_DIR "/ca.crt");
	o.proxy_from_environment = true;
	a->url = mem_printf(strchr(host, ':') ? "https://[%s]:%s" :
						"https://%s:%s",
			    host, port);
	a->http = http_config_new(&o);
	return 0;
}

/*
 * Set the client's options from the kubeconfig file and the credential that a
 * plugin has printed.
 */
static void access_take_credential(struct kube_access *a,
				   const struct exec_credential *c)
{
	int64_t soon = time(NULL) * 1000LL + PLUGIN_PAUSE_NS / 1000000;
	struct http_options o = a->file.http;

	if (c->token.len) {
		o.auth = HTTP_AUTH_HEADER;
		o.credentials.text = c->token;
	}
	if (c->key.len) {
		o.tls.cert.text = c->certificate;
		o.tls.key.text = c->key;
	}
	a->http = http_config_new(&o);
	/*
	 * Even a credential that has expired is used for PLUGIN_PAUSE_NS, so
	 * that the plugin is not run all the time.
	 */
	a->expires_ms = c->expires_ms > soon ? c->expires_ms : soon;
}

/* Called when a plugin has ended. */
static void access_on_plugin(void *ctx, struct exec_credential *c,
			     const struct err *err)
{
	struct kube_access *a = ctx;

	a->plugin = NULL;
	a->failed = (struct err){ 0 };
	if (c)
		access_take_credential(a, c);
	else
		a->failed = *err;
	a->pause_ns = clock_mono_ns() + PLUGIN_PAUSE_NS;
	a->ready(a->p);
}

/*
 * Start the plugin, unless it runs or has failed a moment ago. Returns
 * KUBE_ACCESS_PENDING if the plugin runs, or the error.
 */
static int access_run_plugin(struct kube_access *a, struct err *err)
{
	int rc;

	if (a->plugin)
		return KUBE_ACCESS_PENDING;
	if (a->failed.code && clock_mono_ns() < a->pause_ns) {
		*err = a->failed;
		return err->code;
	}
	rc = exec_plugin_start(a->p->client, &a->file.exec, access_on_plugin, a,
			       &a->plugin, err);
	return rc ? rc : KUBE_ACCESS_PENDING;
}

/*
 * Read the kubeconfig file, if it was not read yet or has changed since it was
 * read.
 */
static int access_read_file(struct kube_access *a, struct err *err)
{
	struct file_stamp stamp = file_stamp(a->path);
	bool was_pending;
	int rc;

	if (a->file.server && file_stamp_eq(stamp, a->stamp))
		return 0;
	was_pending = a->plugin != NULL;
	access_drop_file(a);
	/*
	 * access_on_plugin() is not called for a cancelled plugin, so call
	 * ready() here: the requests that wait for the plugin try again.
	 */
	if (was_pending)
		a->ready(a->p);
	rc = kubeconfig_read(&a->file, a->path, err);
	if (rc)
		return rc;
	a->stamp = stamp;
	a->failed = (struct err){ 0 };
	mem_free(a->url);
	a->url = mem_strdup(a->file.server);
	if (!a->file.has_exec)
		a->http = http_config_new(&a->file.http);
	return 0;
}

int kube_access_get(struct kube_access *a, struct kube_login *login,
		    struct err *err)
{
	int rc = 0;

	if (a->origin == KUBE_CONFIG_FILE)
		rc = access_read_file(a, err);
	else if (!a->url)
		rc = access_set_pod(a, err);
	if (rc)
		return rc;
	if (a->expires_ms < time(NULL) * 1000LL)
		access_forget(a);
	if (!a->http)
		rc = access_run_plugin(a, err);
	*login = (struct kube_login){ a->url, a->http };
	return rc;
}

void kube_access_reject(struct kube_access *a)
{
	/* Only a plugin can make new credentials. */
	if (a->origin == KUBE_CONFIG_FILE && a->file.server &&
	    a->file.has_exec && clock_mono_ns() >= a->pause_ns)
		access_forget(a);
}

int64_t kube_access_expire(struct kube_access *a)
{
	int64_t left;

	if (!a->plugin)
		return INT64_MAX;
	left = exec_plugin_expire(a->plugin);
	return left ? left : INT64_MAX;
}

int kube_own_namespace(char **out, struct err *err)
{
	struct buf text = buf_init(NAMESPACE_MAX);
	int rc = file_slurp(KUBE_ACCOUNT_DIR "/namespace", &text, err);

	if (rc)
		rc = err_wrap(
			err, rc,
			"own_namespace needs the namespace of the pod that everprof runs in");
	else if (!str_trim(str_from(buf_bytes(&text))).len)
		rc = err_set(
			err, ERR_INVALID,
			"own_namespace needs the namespace of the pod that everprof runs in: " KUBE_ACCOUNT_DIR
			"/namespace is empty");
	else
		*out = mem_strndup(str_trim(str_from(buf_bytes(&text))));
	buf_fini(&text);
	return rc;
}
