/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credential plugins: programs that print a credential, or fail to, in each way.
 */
#include "discovery/kubernetes/exec_plugin.h"

#include "base/mem.h"
#include "tests/discovery/fake_loop.h"

TestSuite(exec_plugin, .timeout = 120);

#define V1 "client.authentication.k8s.io/v1"

/* What the last plugin has led to. */
static struct {
	int calls;
	char token[100]; /* "": there is no credential */
	struct err err;
} outcome;

static void on_done(void *ctx, struct exec_credential *c, const struct err *err)
{
	cr_expect(ctx == &outcome);
	outcome.calls++;
	if (c)
		snprintf(outcome.token, sizeof(outcome.token), "%.*s",
			 STR_ARG(c->token));
	else
		outcome.err = *err;
}

/* Run a shell script as a plugin, up to its end. Returns its error; "": none. */
static const char *run(const char *script)
{
	char *args[] = { (char *)"sh", (char *)"-c", mem_strdup(script), NULL };
	char *env[] = { (char *)"TOKEN=from-the-environment", NULL };
	const struct exec_plugin_config c = { .api_version = V1,
					      .command = "sh",
					      .args = args,
					      .env = env,
					      .hint = "" };
	struct exec_plugin *x = NULL;

	memset(&outcome, 0, sizeof(outcome));
	if (exec_plugin_start(NULL, &c, on_done, &outcome, &x, &outcome.err)) {
		cr_assert(!x);
		cr_expect(!outcome.calls);
	} else {
		while (!outcome.calls)
			fake_loop_turn();
		cr_expect(outcome.calls == 1);
	}
	cr_expect(!fake_loop.count, "nothing is watched any more");
	mem_free(args[2]);
	return outcome.err.msg;
}

#define CREDENTIAL(status)                                        \
	"{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\"," \
	"\"status\":" status "}"

Test(exec_plugin, what_it_prints_is_the_credential)
{
	cr_expect(check_str(str_of(run("printf '%s' '" CREDENTIAL(
				    "{\"token\":\"t\"}") "'")),
			    ""));
	cr_expect(!strcmp(outcome.token, "t"));
	cr_expect(check_str(str_of(run("sleep 0.1; echo '" CREDENTIAL(
				    "{\"token\":\"'$TOKEN'\"}") "'")),
			    ""));
	cr_expect(!strcmp(outcome.token, "from-the-environment"));
}

Test(exec_plugin, a_failure_says_which_plugin_and_why)
{
	static const struct {
		const char *script;
		const char *why;
	} cases[] = {
		{ "exit 3", "exit code 3" },
		{ "kill -9 $$", "signal 9" },
		{ "echo secret", "not an ExecCredential" },
		{ "yes '                              ' | head -c 2000000",
		  "prints more than 1 MB" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *why = run(cases[i].script);

		cr_expect(strstr(why, cases[i].why), "%s", why);
		cr_expect(strstr(why, "credential plugin sh"), "%s", why);
		cr_expect(!strstr(why, "secret"), "%s", why);
	}
}

Test(exec_plugin, one_that_never_stops_printing_is_ended)
{
	cr_expect(strstr(run("yes"), "it prints more than"));
	/* The same, if it ends before all is read. */
	cr_expect(strstr(run("head -c 2000000 /dev/zero"),
			 "it prints more than"));
}

Test(exec_plugin, a_program_that_is_missing_is_named_with_a_hint)
{
	char *none[] = { (char *)"/nonexistent/plugin", NULL };
	char *env[] = { NULL };
	const struct exec_plugin_config c = { .api_version = V1,
					      .command = none[0],
					      .args = none,
					      .env = env,
					      .hint = "install it" };
	struct exec_plugin *x = NULL;
	struct err err;

	cr_expect(exec_plugin_start(NULL, &c, on_done, NULL, &x, &err));
	cr_expect(
		strstr(err.msg,
		       "/nonexistent/plugin: No such file or directory; install it"),
		"%s", err.msg);
	cr_expect(!fake_loop.count);
}

Test(exec_plugin, one_that_is_cancelled_tells_nothing)
{
	char *args[] = { (char *)"sleep", (char *)"1000", NULL };
	char *env[] = { NULL };
	const struct exec_plugin_config c = { .api_version = V1,
					      .command = "sleep",
					      .args = args,
					      .env = env,
					      .hint = "" };
	struct exec_plugin *x = NULL;
	int64_t left;

	memset(&outcome, 0, sizeof(outcome));
	cr_assert(!exec_plugin_start(NULL, &c, on_done, &outcome, &x,
				     &outcome.err));
	left = exec_plugin_expire(x);
	cr_assert(left > 0);
	cr_expect(left <= EXEC_PLUGIN_MS + 1);
	exec_plugin_cancel(x);
	cr_assert(!outcome.calls);
	cr_expect(!fake_loop.count);
	exec_plugin_cancel(NULL);
}

Test(exec_plugin, credentials_are_checked)
{
	static const struct {
		const char *text;
		const char *why; /* NULL: it is one */
		int64_t expires_ms;
	} cases[] = {
		{ CREDENTIAL("{\"token\":\"t\"}"), NULL, INT64_MAX },
		{ CREDENTIAL("{\"clientCertificateData\":\"c\","
			     "\"clientKeyData\":\"k\"}"),
		  NULL, INT64_MAX },
		{ CREDENTIAL("{\"token\":\"t\",\"expirationTimestamp\":"
			     "\"1970-01-01T01:00:02.5+01:00\"}"),
		  NULL, 2000 },
		{ CREDENTIAL("{\"token\":\"t\",\"expirationTimestamp\":"
			     "\"1970-01-01T00:00:03Z\"}"),
		  NULL, 3000 },
		{ CREDENTIAL("{\"token\":\"t\",\"expirationTimestamp\":"
			     "\"tomorrow\"}"),
		  "RFC 3339", 0 },
		{ CREDENTIAL("{}"), "neither a token", 0 },
		{ CREDENTIAL("{\"clientKeyData\":\"k\"}"), "only one of", 0 },
		{ "{\"kind\":\"ExecCredential\",\"apiVersion\":\"v0\"}",
		  "does not have the apiVersion", 0 },
		{ "[]", "not an ExecCredential", 0 },
		{ "", "not an ExecCredential", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct exec_credential c = { 0 };
		struct err err = { .msg = "" };
		int rc = exec_credential_parse(bytes_of(str_of(cases[i].text)),
					       V1, &c, &err);

		cr_expect(!rc == !cases[i].why, "%s: %s", cases[i].text,
			  err.msg);
		if (cases[i].why)
			cr_expect(strstr(err.msg, cases[i].why), "%s", err.msg);
		else
			cr_expect(c.expires_ms == cases[i].expires_ms, "%zu",
				  i);
		if (!rc)
			yaml_fini(&c.y);
	}
}
