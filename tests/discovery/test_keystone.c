/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an account of OpenStack logs in to Keystone, and what it takes from the
 * catalog of services.
 */
#include "discovery/openstack/keystone.h"

#include "discovery/rest/rest_source.h"
#include "tests/discovery/fake_account.h"

TestSuite(keystone, .timeout = 60);

/* An account that is opened for a login. */
struct opened {
	struct keystone_config c;
	struct fake_account a;
	struct rest_run r;
};

static void open_account(struct opened *o, const struct keystone_login *login)
{
	clearenv();
	*o = (struct opened){ .c = { .region = str_of("R"),
				     .availability = str_of("public") } };
	o->c.login = *login;
	fake_account_open(&o->a, &keystone_kind, &o->c);
	o->r = (struct rest_run){ .config = &o->c.rest, .account = o->a.data };
}

static void close_account(struct opened *o)
{
	fake_account_close(&o->a);
}

#define HEADERS                            \
	"Content-Type: application/json\n" \
	"Accept: application/json\n\n"

Test(keystone, logins_are_written_as_the_api_wants_them)
{
	static const struct {
		struct keystone_login login;
		const char *ask;
	} cases[] = {
		{ { .identity_endpoint = { "http://k/", 9 },
		    .userid = { "u", 1 },
		    .password = { "p\"", 2 } },
		  "POST http://k/v3/auth/tokens\n" HEADERS
		  "{\"auth\":{\"identity\":{\"methods\":[\"password\"],"
		  "\"password\":{\"user\":{\"id\":\"u\",\"password\":"
		  "\"p\\\"\"}}}}}" },
		{ { .identity_endpoint = { "http://k/v3", 11 },
		    .username = { "n", 1 },
		    .password = { "p", 1 },
		    .domain_name = { "d", 1 },
		    .project_name = { "j", 1 } },
		  "POST http://k/v3/auth/tokens\n" HEADERS
		  "{\"auth\":{\"identity\":{\"methods\":[\"password\"],"
		  "\"password\":{\"user\":{\"name\":\"n\",\"domain\":{\"name\":"
		  "\"d\"},\"password\":\"p\"}}},\"scope\":{\"project\":{"
		  "\"name\":\"j\",\"domain\":{\"name\":\"d\"}}}}}" },
		{ { .identity_endpoint = { "http://k/v3/", 12 },
		    .application_credential_id = { "i", 1 },
		    .application_credential_secret = { "s", 1 },
		    .project_id = { "ignored", 7 } },
		  "POST http://k/v3/auth/tokens\n" HEADERS
		  "{\"auth\":{\"identity\":{\"methods\":["
		  "\"application_credential\"],\"application_credential\":{"
		  "\"id\":\"i\",\"secret\":\"s\"}}}}" },
		{ { .identity_endpoint = { "http://k/v2.0", 13 },
		    .userid = { "u", 1 },
		    .password = { "p", 1 } },
		  "error: version 2.0…" },
		{ { .identity_endpoint = { "http://k", 8 } },
		  "error: there is neither a password nor an application "
		  "credential" },
		{ { .identity_endpoint = { "http://k", 8 },
		    .application_credential_id = { "i", 1 } },
		  "error: the application credential has no secret" },
		{ { .identity_endpoint = { "http://k", 8 },
		    .username = { "n", 1 },
		    .password = { "p", 1 } },
		  "error: username requires domain_name or domain_id" },
		{ { .identity_endpoint = { "http://k", 8 },
		    .username = { "n", 1 },
		    .userid = { "u", 1 },
		    .password = { "p", 1 } },
		  "error: at most one of username and userid may be set" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct opened o;

		open_account(&o, &cases[i].login);
		cr_expect(fake_account_asks(&o.a, cases[i].ask), "%zu", i);
		close_account(&o);
	}
}

Test(keystone, the_environment_says_how_to_log_in)
{
	const struct keystone_login none = { 0 };
	struct opened o;

	open_account(&o, &none);
	cr_expect(fake_account_asks(&o.a, "error: set identity_endpoint, or "
					  "the environment variable OS_AUTH…"));
	setenv("OS_AUTH_URL", "http://env", 1);
	setenv("OS_USER_ID", "u", 1);
	setenv("OS_PASSWORD", "p", 1);
	setenv("OS_TENANT_ID", "t", 1);
	cr_expect(fake_account_asks(&o.a, "POST http://env/v3/auth/tokens\n…"));
	cr_expect(strstr(fake_account_ask(&o.a),
			 "\"scope\":{\"project\":{\"id\":\"t\"}}"));
	close_account(&o);
}

#define CATALOG                                                                  \
	"{\"token\": {\"expires_at\": \"2099-01-01T00:00:00Z\", "                \
	"\"catalog\": [{\"type\": \"compute\", \"endpoints\": ["                 \
	"{\"interface\": \"admin\", \"region\": \"R\", \"url\": \"http://a\"},"  \
	"{\"interface\": \"public\", \"region\": \"Q\", \"url\": \"http://q\"}," \
	"{\"interface\": \"public\", \"region_id\": \"R\", \"url\": "            \
	"\"http://c/v2.1/\"}]}, {\"type\": \"network\", \"endpoints\": ["        \
	"{\"interface\": \"public\", \"region\": \"R\", \"url\": "               \
	"\"http://n\"}]}]}}"

static const struct keystone_login login = {
	.identity_endpoint = { "http://k", 8 },
	.userid = { "u", 1 },
	.password = { "p", 1 },
};

Test(keystone, urls_come_from_the_catalog_of_the_region)
{
	struct rest_request q = { 0 };
	struct buf url = { 0 };
	struct opened o;
	struct err err;

	open_account(&o, &login);
	cr_expect(fake_account_asks(&o.a, "POST http://k/v3/auth/tokens\n…"));
	cr_expect(check_str(str_of(fake_account_give(
				    &o.a, 201, "X-Subject-Token: T", CATALOG)),
			    ""));
	cr_expect(fake_account_asks(&o.a, "ready"));
	cr_expect(!keystone_need(&o.r, "compute", &err));
	cr_expect(keystone_need(&o.r, "volume", &err) == ERR_NOTFOUND);
	cr_expect(strstr(err.msg, "no public endpoint of service volume in "
				  "region R"),
		  "%s", err.msg);
	cr_expect(
		keystone_write_url(&o.r, "compute", "/v2.1", "/servers", &url));
	cr_expect(
		check_str(str_from(buf_bytes(&url)), "http://c/v2.1/servers"));
	cr_expect(keystone_write_url(&o.r, "network", "/v2.0", "/ips", &url));
	cr_expect(check_str(str_from(buf_bytes(&url)), "http://n/v2.0/ips"));
	keystone_prepare(&o.r, &q);
	cr_assert(q.headers.count == 2);
	cr_expect(!strcmp(q.headers.v[0], "X-Auth-Token: T"));
	rest_request_fini(&q);
	buf_fini(&url);
	close_account(&o);
}

Test(keystone, answers_without_a_usable_token_are_refused)
{
	static const struct {
		long status;
		const char *headers;
		const char *body;
		const char *why;
	} cases[] = {
		{ 201, "", CATALOG, "no header X-Subject-Token" },
		{ 201, "X-Subject-Token: T", "{}", "expires_at" },
		{ 201, "X-Subject-Token: T",
		  "{\"token\": {\"expires_at\": \"2001-01-01T00:00:00Z\"}}",
		  "expired already" },
		{ 401, "", "{\"error\": {\"title\": \"Unauthorized\"}}",
		  "HTTP status 401: Unauthorized" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct opened o;
		const char *why;

		open_account(&o, &login);
		why = fake_account_give(&o.a, cases[i].status, cases[i].headers,
					cases[i].body);
		cr_expect(strstr(why, cases[i].why), "%zu: %s", i, why);
		cr_expect(fake_account_asks(&o.a, "POST http://k/v3/auth…"));
		close_account(&o);
	}
}
