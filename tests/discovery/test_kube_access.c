/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the API server of Kubernetes is reached: what a kubeconfig file says, the
 * service account of a pod, and a credential plugin that is run again.
 */
#include "discovery/kubernetes/kube_access.h"

#include <sys/stat.h>

#include "discovery/core/kinds.h"
#include "discovery/kubernetes/kube_config.h"
#include "discovery/kubernetes/kubeconfig.h"
#include "tests/discovery/fake_loop.h"
#include "tests/discovery/fake_provider.h"
#include "tests/tempdir.h"

TestSuite(kubeconfig, .timeout = 60);
TestSuite(kube_access, .timeout = 120);
TestSuite(kube_config, .timeout = 60);

/* A kubeconfig file, in a folder of its own. */
struct file {
	struct tempdir d;
	char path[300];
};

static void put_file(struct file *f, const char *cluster, const char *user)
{
	FILE *out;

	if (!*f->path) {
		f->d = tempdir_make();
		snprintf(f->path, sizeof(f->path), "%s/config", f->d.path);
	}
	out = fopen(f->path, "w");
	cr_assert(out);
	fprintf(out,
		"current-context: x\n"
		"contexts: [{name: x, context: {cluster: c, user: u}}]\n"
		"clusters: [{name: c, cluster: %s}]\n"
		"users: [{name: u, user: %s}]\n",
		cluster, user);
	fclose(out);
}

static void drop_file(struct file *f)
{
	tempdir_fini(&f->d);
}

/* Read such a file. Returns the error; "": none, and `k` must be freed. */
static const char *read_file(const char *cluster, const char *user,
			     struct kubeconfig *k)
{
	static struct err err;
	struct file f = { .path = "" };

	put_file(&f, cluster, user);
	err = (struct err){ .msg = "" };
	if (!kubeconfig_read(k, f.path, &err))
		err.msg[0] = 0;
	else
		cr_expect(strstr(err.msg, f.path), "%s", err.msg);
	drop_file(&f);
	return err.msg;
}

#define HTTPS "{server: 'https://h:1/'}"

Test(kubeconfig, a_context_leads_to_a_server_and_a_login)
{
	struct kubeconfig k;

	cr_assert(!*read_file(HTTPS, "{token: t}", &k));
	cr_expect(!strcmp(k.server, "https://h:1"));
	cr_assert(k.http.auth == HTTP_AUTH_HEADER);
	cr_expect(!k.has_exec);
	cr_expect(check_str(k.http.credentials.text, "t"));
	cr_expect(k.http.proxy_from_environment);
	kubeconfig_fini(&k);
	cr_assert(!*read_file("{server: 'h:2', proxy-url: 'http://p', "
			      "insecure-skip-tls-verify: true}",
			      "{username: a, password: b}", &k));
	cr_expect(!strcmp(k.server, "https://h:2"), "%s", k.server);
	cr_expect(k.http.auth == HTTP_AUTH_BASIC);
	cr_expect(check_str(k.http.password.text, "b"));
	cr_expect(k.http.tls.insecure_skip_verify);
	cr_expect(check_str(k.http.proxy_url, "http://p"));
	kubeconfig_fini(&k);
}

Test(kubeconfig, files_are_relative_to_it_and_data_is_base64)
{
	struct kubeconfig k;

	cr_assert(
		!*read_file("{server: 'https://h', certificate-authority: ca}",
			    "{client-certificate-data: Yw==, "
			    "client-key-data: aw==}",
			    &k));
	cr_expect(str_ends(k.http.tls.ca.file, "/ca"));
	cr_expect(k.http.tls.ca.file.ptr[0] == '/');
	cr_expect(check_str(k.http.tls.cert.text, "c"));
	cr_expect(check_str(k.http.tls.key.text, "k"));
	kubeconfig_fini(&k);
}

Test(kubeconfig, credentials_are_not_sent_in_plain_text)
{
	struct kubeconfig k;

	cr_assert(!*read_file("{server: 'http://h'}", "{token: t, as: root}",
			      &k));
	cr_assert(k.http.auth == HTTP_AUTH_NONE);
	cr_expect(!k.http.headers.count);
	kubeconfig_fini(&k);
	cr_assert(!*read_file(HTTPS,
			      "{token: t, as: root, as-groups: [a, b], "
			      "as-user-extra: {k: [v]}}",
			      &k));
	cr_assert(k.http.headers.count == 4);
	cr_expect(check_str(k.http.headers.v[0].name, "Impersonate-User"));
	cr_expect(check_str(k.http.headers.v[2].value.text, "b"));
	cr_expect(check_str(k.http.headers.v[3].name, "Impersonate-Extra-k"));
	kubeconfig_fini(&k);
}

Test(kubeconfig, a_plugin_gets_arguments_and_an_environment)
{
	struct kubeconfig k;

	cr_assert(!*read_file(
		HTTPS,
		"{exec: {apiVersion: client.authentication.k8s.io/v1, command: "
		"c, args: [a, b], env: [{name: N, value: v}], installHint: h, "
		"interactiveMode: Never, provideClusterInfo: true}}",
		&k));
	cr_assert(k.has_exec);
	cr_assert(!strcmp(k.exec.args[0], "c"));
	cr_expect(!strcmp(k.exec.args[2], "b"));
	cr_expect(!k.exec.args[3]);
	cr_expect(strstr(k.exec.env[0], "KUBERNETES_EXEC_INFO={"));
	cr_expect(strstr(k.exec.env[0], "\"server\":\"https://h:1/\""), "%s",
		  k.exec.env[0]);
	cr_assert(!strcmp(k.exec.env[1], "N=v"));
	cr_expect(!k.exec.env[2]);
	cr_expect(!strcmp(k.exec.hint, "h"));
	kubeconfig_fini(&k);
}

Test(kubeconfig, mistakes_are_named)
{
	static const struct {
		const char *cluster;
		const char *user;
		const char *why;
	} cases[] = {
		{ "{}", "{}", "has no \"server\"" },
		{ "{server: h, certificate-authority-data: '?'}", "{}",
		  "is not base64" },
		{ "{server: h, certificate-authority: a, "
		  "insecure-skip-tls-verify: true}",
		  "{}", "cannot be combined" },
		{ HTTPS, "{token: a, username: b}", "more than one" },
		{ HTTPS, "{client-key: a}", "only one of" },
		{ HTTPS, "{auth-provider: {name: gcp}}", "is not supported" },
		{ HTTPS, "{exec: {apiVersion: v9, command: c}}", "\"v9\"" },
		{ HTTPS,
		  "{exec: {apiVersion: client.authentication.k8s.io/v1}}",
		  "command is missing" },
		{ HTTPS,
		  "{exec: {apiVersion: client.authentication.k8s.io/v1, "
		  "command: c}}",
		  "interactiveMode is missing" },
		{ HTTPS,
		  "{exec: {apiVersion: client.authentication.k8s.io/v1, "
		  "command: c, interactiveMode: Always}}",
		  "without a terminal" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct kubeconfig k;
		const char *why =
			read_file(cases[i].cluster, cases[i].user, &k);

		cr_expect(strstr(why, cases[i].why), "%s: %s", cases[i].why,
			  why);
	}
}

Test(kubeconfig, a_check_reads_the_files_that_it_names)
{
	struct file f = { .path = "" };
	struct err err = { .msg = "" };

	put_file(&f, HTTPS, "{token: t}");
	cr_expect(!kubeconfig_try(f.path, &err), "%s", err.msg);
	put_file(&f, HTTPS, "{tokenFile: none}");
	cr_expect(kubeconfig_try(f.path, &err));
	cr_expect(strstr(err.msg, "/none"), "%s", err.msg);
	drop_file(&f);
	cr_expect(kubeconfig_try("/nonexistent/config", &err));
	cr_expect(strstr(err.msg, "kubeconfig_file"), "%s", err.msg);
}

static int woken;

static void count_wakes(struct provider *p UNUSED)
{
	woken++;
}

Test(kube_access, a_configured_server_needs_nothing_else)
{
	struct fake_provider f;
	struct kube_access *a;
	struct kube_login login;
	struct err err;

	fake_provider_init(&f, &provider_kubernetes,
			   "{role: pod, api_server: 'http://u:p@h'}");
	a = kube_access_new(&f.p, str_of("http://u:p@h"), str_of(""),
			    count_wakes);
	cr_assert(!kube_access_get(a, &login, &err));
	cr_assert(!strcmp(login.url, "http://u:p@h"));
	cr_expect(login.http);
	cr_expect(!strstr(kube_access_shown(a), "u:p"), "%s",
		  kube_access_shown(a));
	cr_expect(kube_access_expire(a) == INT64_MAX);
	kube_access_reject(a);
	cr_expect(!kube_access_get(a, &login, &err));
	kube_access_free(a);
	fake_provider_fini(&f);
}

Test(kube_access, a_pod_has_the_server_in_its_environment)
{
	struct fake_provider f;
	struct kube_access *a;
	struct kube_login login;
	struct err err;

	clearenv();
	fake_provider_init(&f, &provider_kubernetes, "{role: pod}");
	a = kube_access_new(&f.p, str_of(""), str_of(""), count_wakes);
	cr_expect(kube_access_get(a, &login, &err));
	cr_expect(strstr(err.msg, "KUBERNETES_SERVICE_HOST"), "%s", err.msg);
	setenv("KUBERNETES_SERVICE_HOST", "fd::1", 1);
	setenv("KUBERNETES_SERVICE_PORT", "443", 1);
	cr_assert(!kube_access_get(a, &login, &err));
	cr_expect(!strcmp(login.url, "https://[fd::1]:443"), "%s", login.url);
	kube_access_free(a);
	fake_provider_fini(&f);
}

/* A user with a plugin: the script plugin.sh beside the file. */
#define PLUGIN                                                               \
	"{exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, " \
	"interactiveMode: Never, args: ['%s/plugin.sh', '%s']}}"

/*
 * Write a file with such a user. The plugin counts its runs in config.runs, and
 * fails if there is config.fail.
 */
static void put_file_with_plugin(struct file *f)
{
	char path[320];
	char user[900];
	FILE *out;

	put_file(f, HTTPS, "{}");
	snprintf(user, sizeof(user), PLUGIN, f->d.path, f->path);
	put_file(f, HTTPS, user);
	snprintf(path, sizeof(path), "%s/plugin.sh", f->d.path);
	out = fopen(path, "w");
	cr_assert(out);
	fputs("printf x >> $1.runs\n"
	      "test ! -e $1.fail || exit 1\n"
	      "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":"
	      "\"client.authentication.k8s.io/v1\","
	      "\"status\":{\"token\":\"t\"}}'\n",
	      out);
	fclose(out);
}

/* How often the plugin has run. */
static off_t runs_of(const struct file *f)
{
	struct stat st;
	char path[320];

	snprintf(path, sizeof(path), "%s.runs", f->path);
	return stat(path, &st) ? 0 : st.st_size;
}

Test(kube_access, a_plugin_runs_once_and_its_failure_is_not_repeated_at_once)
{
	struct file file = { .path = "" };
	struct fake_provider f;
	struct kube_access *a;
	struct kube_login login;
	char fail[320];
	struct err err;
	FILE *out;

	put_file_with_plugin(&file);
	fake_provider_init(&f, &provider_kubernetes,
			   "{role: pod, api_server: 'http://h'}");
	a = kube_access_new(&f.p, str_of(""), str_of(file.path), count_wakes);
	woken = 0;
	cr_assert(kube_access_get(a, &login, &err) == KUBE_ACCESS_PENDING, "%s",
		  err.msg);
	cr_expect(kube_access_get(a, &login, &err) == KUBE_ACCESS_PENDING);
	cr_expect(kube_access_expire(a) < INT64_MAX);
	while (!woken)
		fake_loop_turn();
	cr_assert(!kube_access_get(a, &login, &err), "%s", err.msg);
	cr_assert(!strcmp(login.url, "https://h:1"));
	cr_expect(login.http);
	cr_expect(runs_of(&file) == 1);
	/* Just after a run, a refusal does not start another one. */
	kube_access_reject(a);
	cr_assert(!kube_access_get(a, &login, &err));
	cr_expect(runs_of(&file) == 1);
	kube_access_free(a);

	/* A plugin that fails. */
	snprintf(fail, sizeof(fail), "%s.fail", file.path);
	out = fopen(fail, "w");
	cr_assert(out);
	fclose(out);
	a = kube_access_new(&f.p, str_of(""), str_of(file.path), count_wakes);
	cr_expect(kube_access_get(a, &login, &err) == KUBE_ACCESS_PENDING);
	while (woken < 2)
		fake_loop_turn();
	for (int i = 0; i < 3; i++) {
		cr_expect(kube_access_get(a, &login, &err) < 0);
		cr_expect(strstr(err.msg, "exit code 1"), "%s", err.msg);
	}
	cr_expect(runs_of(&file) == 2, "%lld", (long long)runs_of(&file));
	kube_access_free(a);
	fake_provider_fini(&f);
	drop_file(&file);
}

Test(kube_access, a_changed_file_is_read_again)
{
	struct file file = { .path = "" };
	struct fake_provider f;
	struct kube_access *a;
	struct kube_login login;
	struct err err;

	put_file(&file, HTTPS, "{token: t}");
	fake_provider_init(&f, &provider_kubernetes,
			   "{role: pod, api_server: 'http://h'}");
	a = kube_access_new(&f.p, str_of(""), str_of(file.path), count_wakes);
	cr_assert(!kube_access_get(a, &login, &err), "%s", err.msg);
	put_file(&file, "{server: 'https://another'}", "{token: t}");
	cr_assert(!kube_access_get(a, &login, &err), "%s", err.msg);
	cr_expect(!strcmp(login.url, "https://another"), "%s", login.url);
	kube_access_free(a);
	fake_provider_fini(&f);
	drop_file(&file);
}

/* The configuration of an entry, or its first mistake. */
static const char *check_entry(const char *entry, struct kube_config *out)
{
	static char text[300];
	struct discovery_config *c;
	struct yaml y;

	yaml_parse(&y, "e", bytes_of(str_of(entry)));
	c = discovery_entry_decode(&y, y.root, &provider_kubernetes);
	snprintf(text, sizeof(text), "%.*s", STR_ARG(yaml_first_error(&y)));
	*out = *(struct kube_config *)c;
	yaml_fini(&y);
	return text;
}

Test(kube_config, a_role_decides_which_resources_are_watched)
{
	struct kube_config c;

	cr_expect(!*check_entry("{role: pod, api_server: 'http://h'}", &c));
	cr_assert(c.role == KUBE_POD);
	cr_expect(c.wants[KUBE_POD]);
	cr_assert(!c.wants[KUBE_NODE]);
	cr_expect(!c.wants[KUBE_SERVICE]);
	cr_expect(!*check_entry("{role: endpoints, api_server: 'http://h', "
				"attach_metadata: {node: true}}",
				&c));
	cr_assert(c.wants[KUBE_ENDPOINTS]);
	cr_expect(c.wants[KUBE_SERVICE]);
	cr_assert(c.wants[KUBE_POD]);
	cr_expect(c.wants[KUBE_NODE]);
	cr_expect(*check_entry("{role: pot, api_server: 'http://h'}", &c));
	cr_expect(*check_entry("{api_server: 'http://h'}", &c));
	cr_expect(*check_entry("{role: pod, api_server: 'http://h', "
			       "kubeconfig_file: x}",
			       &c));
}
