/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/kubernetes/kubeconfig.h"

#include "base/base64.h"
#include "base/file_slurp.h"
#include "base/json.h"
#include "base/url.h"
#include "client/transfer/http_config.h"
#include "discovery/rest/document.h"

#define EXEC_V1      "client.authentication.k8s.io/v1"
#define EXEC_V1BETA1 "client.authentication.k8s.io/v1beta1"

/*
 * Find the entry `name` in the list at the key `list`, and return the member
 * `member` of the entry, or NULL.
 */
static const struct yaml_node *kubeconfig_entry(const struct kubeconfig *k,
						const char *list,
						const char *member,
						struct str name)
{
	const struct yaml_node *all = doc_find(k->y.root, list);

	for (size_t i = 0; i < doc_count(all); i++) {
		const struct yaml_node *one = doc_item(all, i);

		if (str_eq(doc_text(one, "name"), name))
			return doc_find(one, member);
	}
	return NULL;
}

/*
 * Set *out to the text that <key>-data of `n` contains as base64, or else to
 * the path in <key>. A relative path is relative to the folder of the
 * kubeconfig file.
 */
static int kubeconfig_text(struct kubeconfig *k, const struct yaml_node *n,
			   const char *key, struct http_text *out,
			   struct err *err)
{
	const char *data_key = arena_printf(&k->y.arena, "%s-data", key);
	struct str data = doc_text(n, data_key);
	struct str path = doc_text(n, key);
	struct buf text = { 0 };

	if (!data.len) {
		if (path.len)
			out->file = yaml_path(&k->y, path);
		return 0;
	}
	if (!base64_decode(data, &text))
		return err_set(err, ERR_INVALID, "%s is not base64", data_key);
	out->text = arena_str(&k->y.arena, str_from(buf_bytes(&text)));
	buf_forget(&text);
	return 0;
}

/* Set the options that the entry of the cluster contains. */
static int kubeconfig_set_cluster(struct kubeconfig *k,
				  const struct yaml_node *cluster,
				  struct err *err)
{
	struct http_options *o = &k->http;
	struct str server = doc_text(cluster, "server");
	int rc = kubeconfig_text(k, cluster, "certificate-authority",
				 &o->tls.ca, err);

	if (rc)
		return rc;
	if (!server.len)
		return err_set(err, ERR_INVALID,
			       "the cluster has no \"server\"");
	server.len = strcspn(server.ptr, "?#");
	while (str_ends(server, "/"))
		server.len--;
	k->server = arena_strndup(&k->y.arena, server);
	if (!strstr(k->server, "://"))
		k->server = arena_printf(&k->y.arena, "https://%s", k->server);
	o->tls.server_name = doc_text(cluster, "tls-server-name");
	o->tls.insecure_skip_verify =
		doc_bool(cluster, "insecure-skip-tls-verify");
	o->proxy_url = doc_text(cluster, "proxy-url");
	o->proxy_from_environment = !o->proxy_url.len;
	if (o->tls.insecure_skip_verify &&
	    (o->tls.ca.text.len || o->tls.ca.file.len))
		return err_set(
			err, ERR_INVALID,
			"insecure-skip-tls-verify cannot be combined with certificate-authority");
	return 0;
}

/* Add a header, if its value is not empty. */
static void kubeconfig_add_header(struct kubeconfig *k, const char *name,
				  struct str value)
{
	struct http_header_list *l = &k->http.headers;
	struct http_header *more =
		arena_array(&k->y.arena, struct http_header, l->count + 1);

	if (!value.len)
		return;
	if (l->count)
		memcpy(more, l->v, l->count * sizeof(*more));
	more[l->count] = (struct http_header){ .name = str_of(name),
					       .value = { .text = value } };
	l->v = more;
	l->count++;
}

/* Add the headers by which a client acts as another user (impersonation). */
static void kubeconfig_impersonate(struct kubeconfig *k,
				   const struct yaml_node *user)
{
	const struct yaml_node *groups = doc_find(user, "as-groups");
	const struct yaml_node *extra = doc_find(user, "as-user-extra");

	kubeconfig_add_header(k, "Impersonate-User", doc_text(user, "as"));
	kubeconfig_add_header(k, "Impersonate-Uid", doc_text(user, "as-uid"));
	for (size_t i = 0; i < doc_count(groups); i++)
		kubeconfig_add_header(k, "Impersonate-Group",
				      doc_text(doc_item(groups, i), ""));
	for (size_t i = 0; i < doc_keys(extra); i++) {
		const struct yaml_node *values;
		struct str key = doc_key(extra, i, &values);
		struct buf escaped = { 0 };
		const char *name;

		/*
		 * A key such as acme.com/project has characters that a header
		 * name cannot have.
		 */
		url_escape(key, &escaped);
		name = arena_printf(&k->y.arena, "Impersonate-Extra-%s",
				    buf_cstr(&escaped));
		buf_fini(&escaped);
		for (size_t n = 0; n < doc_count(values); n++)
			kubeconfig_add_header(
				k, name, doc_text(doc_item(values, n), ""));
	}
}

/* Write the member `cluster` of KUBERNETES_EXEC_INFO. */
static void kubeconfig_write_cluster(const struct yaml_node *cluster,
				     struct json *j)
{
	static const char *const keys[] = { "server", "tls-server-name",
					    "certificate-authority-data",
					    "proxy-url" };

	json_key(j, "cluster");
	json_begin(j, '{');
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		struct str value = doc_text(cluster, keys[i]);

		if (!value.len)
			continue;
		json_key(j, keys[i]);
		json_str(j, value);
	}
	if (doc_bool(cluster, "insecure-skip-tls-verify")) {
		json_key(j, "insecure-skip-tls-verify");
		json_bool(j, true);
	}
	json_end(j, '}');
}

/*
 * Return the environment variable KUBERNETES_EXEC_INFO as "NAME=value". It
 * tells a plugin the version in which to print the credential and, unless
 * `cluster` is NULL, the data of the cluster. The text is in the arena of k->y.
 */
static char *kubeconfig_exec_info(struct kubeconfig *k,
				  const struct yaml_node *cluster)
{
	struct buf text = { 0 };
	struct json j = json_init(&text);
	char *out;

	json_begin(&j, '{');
	json_key(&j, "kind");
	json_text(&j, "ExecCredential");
	json_key(&j, "apiVersion");
	json_text(&j, k->exec.api_version);
	json_key(&j, "spec");
	json_begin(&j, '{');
	if (cluster)
		kubeconfig_write_cluster(cluster, &j);
	json_key(&j, "interactive");
	json_bool(&j, false);
	json_end(&j, '}');
	json_end(&j, '}');
	out = arena_printf(&k->y.arena, "KUBERNETES_EXEC_INFO=%s",
			   buf_cstr(&text));
	buf_fini(&text);
	return out;
}

/* Set the arguments and the environment of a plugin. */
static void kubeconfig_set_call(struct kubeconfig *k,
				const struct yaml_node *exec,
				const struct yaml_node *cluster)
{
	const struct yaml_node *args = doc_find(exec, "args");
	const struct yaml_node *env = doc_find(exec, "env");
	struct arena *a = &k->y.arena;
	size_t n = 0;

	k->exec.args = arena_array(a, char *, doc_count(args) + 2);
	k->exec.args[n++] = arena_strndup(a, str_of(k->exec.command));
	for (size_t i = 0; i < doc_count(args); i++)
		k->exec.args[n++] =
			arena_strndup(a, doc_text(doc_item(args, i), ""));
	k->exec.env = arena_array(a, char *, doc_count(env) + 2);
	n = 0;
	k->exec.env[n++] = kubeconfig_exec_info(
		k, doc_bool(exec, "provideClusterInfo") ? cluster : NULL);
	for (size_t i = 0; i < doc_count(env); i++) {
		const struct yaml_node *one = doc_item(env, i);
		struct str name = doc_text(one, "name");
		struct str value = doc_text(one, "value");

		k->exec.env[n++] = arena_printf(a, "%.*s=%.*s", STR_ARG(name),
						STR_ARG(value));
	}
}

/* Set the plugin that prints the credentials. */
static int kubeconfig_set_exec(struct kubeconfig *k,
			       const struct yaml_node *exec,
			       const struct yaml_node *cluster, struct err *err)
{
	struct str version = doc_text(exec, "apiVersion");
	struct str command = doc_text(exec, "command");
	struct str mode = doc_text(exec, "interactiveMode");

	if (!str_is(version, EXEC_V1) && !str_is(version, EXEC_V1BETA1))
		return err_set(
			err, ERR_INVALID,
			"exec: the apiVersion \"%.*s\" is not supported: use client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1",
			STR_ARG(version));
	if (!command.len)
		return err_set(err, ERR_INVALID,
			       "exec: the command is missing");
	if (str_is(version, EXEC_V1) && !mode.len)
		return err_set(
			err, ERR_INVALID,
			"exec: interactiveMode is missing: set it to IfAvailable or Never");
	if (str_is(mode, "Always"))
		return err_set(
			err, ERR_INVALID,
			"exec: interactiveMode is Always, but everprof runs plugins without a terminal: set it to IfAvailable or Never");
	if (memchr(command.ptr, '/', command.len))
		command = yaml_path(&k->y, command);
	k->has_exec = true;
	k->exec.api_version = arena_strndup(&k->y.arena, version);
	k->exec.command = arena_strndup(&k->y.arena, command);
	k->exec.hint =
		arena_strndup(&k->y.arena, doc_text(exec, "installHint"));
	kubeconfig_set_call(k, exec, cluster);
	return 0;
}

/* Set the token, or the name and password, with which the user logs in. */
static int kubeconfig_set_login(struct kubeconfig *k,
				const struct yaml_node *user, struct err *err)
{
	struct http_options *o = &k->http;
	struct str token = doc_text(user, "token");
	struct str token_file = doc_text(user, "tokenFile");
	struct str username = doc_text(user, "username");

	if ((token.len || token_file.len) && username.len)
		return err_set(
			err, ERR_INVALID,
			"the user has more than one authentication method: token and username");
	if (username.len) {
		o->auth = HTTP_AUTH_BASIC;
		o->username.text = username;
		o->password.text = doc_text(user, "password");
	} else if (token_file.len) {
		o->auth = HTTP_AUTH_HEADER;
		o->credentials.file = yaml_path(&k->y, token_file);
		o->credentials_file_key = "tokenFile";
	} else if (token.len) {
		o->auth = HTTP_AUTH_HEADER;
		o->credentials.text = token;
	}
	return 0;
}

/* Set the options that the entry of the user contains. */
static int kubeconfig_set_user(struct kubeconfig *k,
			       const struct yaml_node *user,
			       const struct yaml_node *cluster, struct err *err)
{
	const struct yaml_node *exec = doc_find(user, "exec");
	struct http_tls *tls = &k->http.tls;
	int rc =
		kubeconfig_text(k, user, "client-certificate", &tls->cert, err);

	if (!rc)
		rc = kubeconfig_text(k, user, "client-key", &tls->key, err);
	if (!rc)
		rc = kubeconfig_set_login(k, user, err);
	if (rc)
		return rc;
	if (!(tls->cert.text.len || tls->cert.file.len) !=
	    !(tls->key.text.len || tls->key.file.len))
		return err_set(
			err, ERR_INVALID,
			"the user has only one of client-certificate and client-key");
	if (doc_find(user, "auth-provider"))
		return err_set(
			err, ERR_INVALID,
			"auth-provider is not supported: use exec, a token or a client certificate");
	kubeconfig_impersonate(k, user);
	if (!exec || k->http.auth != HTTP_AUTH_NONE || tls->cert.text.len ||
	    tls->cert.file.len)
		return 0;
	return kubeconfig_set_exec(k, exec, cluster, err);
}

/*
 * Remove the credentials and the headers, because the URL of the server does
 * not begin with https, so they would be sent in plain text. A client
 * certificate stays, because it is sent only with https.
 */
static void kubeconfig_drop_login(struct kubeconfig *k)
{
	k->http.auth = HTTP_AUTH_NONE;
	k->http.headers.count = 0;
	k->has_exec = false;
}

/* Set all members of `k` from the current context of the file. */
static int kubeconfig_set(struct kubeconfig *k, struct err *err)
{
	struct str name = doc_text(k->y.root, "current-context");
	const struct yaml_node *context =
		kubeconfig_entry(k, "contexts", "context", name);
	struct str cluster_name = doc_text(context, "cluster");
	struct str user_name = doc_text(context, "user");
	const struct yaml_node *cluster =
		kubeconfig_entry(k, "clusters", "cluster", cluster_name);
	const struct yaml_node *user =
		kubeconfig_entry(k, "users", "user", user_name);
	int rc;

	if (!name.len)
		return err_set(err, ERR_INVALID, "current-context is missing");
	if (!context)
		return err_set(err, ERR_INVALID, "there is no context \"%.*s\"",
			       STR_ARG(name));
	if (!cluster)
		return err_set(
			err, ERR_INVALID,
			"the current context names no existing cluster: \"%.*s\"",
			STR_ARG(cluster_name));
	if (user_name.len && !user)
		return err_set(err, ERR_INVALID, "there is no user \"%.*s\"",
			       STR_ARG(user_name));
	rc = kubeconfig_set_cluster(k, cluster, err);
	if (!rc)
		rc = kubeconfig_set_user(k, user, cluster, err);
	if (!rc && !str_starts(str_of(k->server), str_of("https://")))
		kubeconfig_drop_login(k);
	return rc;
}

int kubeconfig_read(struct kubeconfig *k, const char *path, struct err *err)
{
	struct buf text = buf_init(YAML_TEXT_MAX);
	int rc = file_slurp(path, &text, err);

	if (rc) {
		buf_forget(&text);
		return err_wrap(err, rc, "kubeconfig_file");
	}
	*k = (struct kubeconfig){ 0 };
	http_options_init(&k->http);
	yaml_parse(&k->y, path, buf_bytes(&text));
	buf_forget(&text);
	rc = yaml_check(&k->y, err);
	if (rc) {
		rc = err_wrap(err, rc, "kubeconfig_file");
	} else {
		rc = kubeconfig_set(k, err);
		if (rc)
			rc = err_wrap(err, rc, "kubeconfig_file: %s", path);
	}
	if (rc)
		kubeconfig_fini(k);
	return rc;
}

int kubeconfig_try(const char *path, struct err *err)
{
	struct kubeconfig k;
	int rc = kubeconfig_read(&k, path, err);

	if (rc)
		return rc;
	rc = http_config_try(&k.http, err);
	if (rc)
		rc = err_wrap(err, rc, "kubeconfig_file: %s", path);
	kubeconfig_fini(&k);
	return rc;
}

void kubeconfig_fini(struct kubeconfig *k)
{
	yaml_fini(&k->y);
	*k = (struct kubeconfig){ 0 };
}
