/* SPDX-License-Identifier: Apache-2.0 */
/* The web configuration file, and which Host headers are allowed. */
#include "tests/check.h"
#include "web/auth/web_config.h"
#include "web/guard/hosts.h"

#define HASH "$2y$10$abcdefghijklmnopqrstuuTG3HTYpJK4lWsE9P5j5s3LxlzYwG1Qy"

TestSuite(web_config, .timeout = 30);

static int parse(struct web_config *c, const char *text, struct err *err)
{
	return web_config_parse(c, "/nowhere/web.yml", bytes_of(str_of(text)),
				err);
}

Test(web_config, empty_file_requires_no_authentication)
{
	struct web_config c;
	struct err err = { 0 };

	cr_expect(!parse(&c, "", &err), "%s", err.msg);
	cr_assert(!web_config_has_auth(&c));
	cr_expect(!c.tls.cert.len);
	web_config_fini(&c);
}

Test(web_config, users_have_all_scopes_unless_they_are_limited)
{
	struct web_config c;
	struct err err = { 0 };

	cr_assert(!parse(&c,
			 "basic_auth_users:\n  ann: " HASH "\n  bob: " HASH "\n"
			 "basic_auth_scopes:\n  bob: [read]\n",
			 &err),
		  "%s", err.msg);
	cr_assert(c.user_count == 2);
	cr_expect(check_str(c.users[0].name, "ann"));
	cr_assert(c.users[0].scopes == SCOPE_ALL);
	cr_expect(!c.users[0].limited);
	cr_assert(c.users[1].scopes == SCOPE_READ);
	cr_expect(c.users[1].limited);
	cr_expect(web_config_has_auth(&c));
	web_config_fini(&c);
}

Test(web_config, tokens_have_names_and_scopes)
{
	struct web_config c;
	struct err err = { 0 };

	cr_assert(!parse(&c,
			 "bearer_tokens:\n"
			 "- name: agent\n  token: 0123456789abcdef\n"
			 "  scopes: [write, read]\n",
			 &err),
		  "%s", err.msg);
	cr_assert(c.token_count == 1);
	cr_expect(check_str(c.tokens[0].name, "agent"));
	cr_expect(c.tokens[0].scopes == (SCOPE_READ | SCOPE_WRITE));
	cr_expect(web_config_has_auth(&c));
	web_config_fini(&c);
}

Test(web_config, each_mistake_has_its_own_message)
{
	static const struct {
		const char *text;
		const char *says;
	} cases[] = {
		{ "basic_auth_users: [a]", "basic_auth_users" },
		{ "basic_auth_users:\n  ann: secret", "must be a bcrypt hash" },
		{ "basic_auth_users:\n  'a:b': " HASH, "contain a colon" },
		{ "basic_auth_users:\n  a: " HASH "\n  a: " HASH, "a" },
		{ "basic_auth_scopes:\n  bob: [read]", "no user of this name" },
		{ "basic_auth_users:\n  a: " HASH
		  "\nbasic_auth_scopes:\n  a: [root]",
		  "read, write or admin" },
		{ "bearer_tokens:\n- token: 0123456789abcdef", "needs a name" },
		{ "bearer_tokens:\n- name: a\n  token: short", "at least 16" },
		{ "bearer_tokens:\n- name: a\n  token: 0123456789abcdef\n"
		  "  token_file: /x",
		  "not both" },
		{ "bearer_tokens:\n- name: a\n  token_file: /nowhere/x",
		  "/nowhere/x" },
		{ "bearer_tokens:\n- name: a\n  token_file: /dev/null",
		  "at least 16" },
		{ "bearer_tokens:\n- name: a", "set token or token_file" },
		{ "tls_server_config:\n  cert_file: /nowhere/c", "/nowhere/c" },
		{ "tls_server_config:\n  client_auth_type: Maybe",
		  "unknown client_auth_type \"Maybe\"" },
		{ "tls_server_config:\n  min_version: TLS10",
		  "TLS12 or TLS13" },
		{ "tls_server_config:\n  min_version: TLS13\n"
		  "  max_version: TLS12",
		  "min_version is above max_version" },
		{ "http_server_config:\n  headers:\n    Server: x",
		  "cannot be configured" },
		{ "unknown_key: 1", "unknown_key" },
		{ "a: [", "web.yml" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct web_config c;
		struct err err = { 0 };
		int rc = parse(&c, cases[i].text, &err);

		cr_expect(rc == ERR_INVALID, "%s", cases[i].text);
		cr_expect(c.yaml.error_count, "%s", cases[i].text);
		cr_expect(strstr(buf_cstr(&c.yaml.errors), cases[i].says),
			  "%s: %s", cases[i].text, buf_cstr(&c.yaml.errors));
		web_config_fini(&c);
	}
}

Test(web_config, messages_contain_no_secrets)
{
	struct web_config c;
	struct err err = { 0 };

	cr_expect(parse(&c,
			"basic_auth_users:\n  ann: hunter2hunter2\n"
			"bearer_tokens:\n- name: a\n  token: hunter3\n",
			&err) == ERR_INVALID);
	cr_expect(!strstr(buf_cstr(&c.yaml.errors), "hunter"), "%s",
		  buf_cstr(&c.yaml.errors));
	cr_expect(!strstr(err.msg, "hunter"), "%s", err.msg);
	web_config_fini(&c);
}

Test(web_config, files_that_weaken_access_control_are_detected)
{
	static const char users[] = "basic_auth_users:\n  ann: " HASH "\n";
	static const char token[] =
		"bearer_tokens:\n- name: a\n  token: 0123456789abcdef\n"
		"  scopes: [read]\n";
	static const struct {
		const char *old;
		const char *next;
		bool opens;
	} cases[] = {
		{ users, "", true },     { users, users, false },
		{ users, token, false }, { token, "", true },
		{ "", "", false },       { "", users, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct web_config old;
		struct web_config next;
		struct err err = { 0 };

		cr_assert(!parse(&old, cases[i].old, &err), "%s", err.msg);
		cr_assert(!parse(&next, cases[i].next, &err), "%s", err.msg);
		cr_expect(!!web_config_opens(&old, &next) == cases[i].opens,
			  "case %zu", i);
		web_config_fini(&old);
		web_config_fini(&next);
	}
}

Test(web_config, ip_addresses_localhost_and_configured_names_are_allowed_hosts)
{
	static const struct {
		const char *names; /* NULL: any */
		const char *host;
		bool allowed;
	} cases[] = {
		{ NULL, "evil.example", true },
		{ "", "evil.example", false },
		{ "", "localhost", true },
		{ "", "LOCALHOST:10902", true },
		{ "", "localhost.", true },
		{ "", "127.0.0.1:10902", true },
		{ "", "[::1]:10902", true },
		{ "", "[::1", false },
		{ "", "", true }, /* HTTP/1.0 has no Host */
		{ "", "127.0.0.1.evil.example", false },
		{ "", "localhost.evil.example", false },
		{ "prof.example", "prof.example:443", true },
		{ "prof.example", "PROF.example", true },
		{ "a,prof.example", "prof.example.", true },
		{ "a,prof.example", "b", false },
		{ "prof.example", "xprof.example", false },
		{ "prof.example", "evil.example", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(hosts_allow(cases[i].names, cases[i].host) ==
				  cases[i].allowed,
			  "\"%s\" with \"%s\"", cases[i].host,
			  cases[i].names ? cases[i].names : "any");
}
