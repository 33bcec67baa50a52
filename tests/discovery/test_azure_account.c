/* SPDX-License-Identifier: Apache-2.0 */
/* How an account of Azure gets a token, by each way to log in. */
#include "discovery/azure/azure_account.h"

#include "discovery/rest/bearer.h"
#include "tests/discovery/fake_account.h"
#include "tests/tempdir.h"

TestSuite(azure_account, .timeout = 60);
TestSuite(bearer, .timeout = 60);

#define TOKEN "{\"access_token\": \"T\", \"expires_in\": 3600}"

static struct azure_config config_of(enum azure_method method)
{
	return (struct azure_config){ .cloud = azure_public_cloud(),
				      .method = method,
				      .tenant_id = str_of("t/x"),
				      .client_id = str_of("c"),
				      .client_secret = str_of("s&"),
				      .subscription_id = str_of("u"),
				      .resource_group = str_of("") };
}

static void open_account(struct fake_account *a, const struct azure_config *c)
{
	clearenv();
	fake_account_open(a, &azure_account_kind, c);
}

Test(azure_account, an_application_logs_in_with_its_secret)
{
	struct azure_config c = config_of(AZURE_OAUTH);
	struct fake_account a;

	open_account(&a, &c);
	cr_expect(fake_account_asks(
		&a, "POST https://login.microsoftonline.com/t%2Fx/oauth2/v2.0/"
		    "token\n\ngrant_type=client_credentials&client_id=c&scope="
		    "https%3A%2F%2Fmanagement.core.windows.net%2F%2F.default&"
		    "client_secret=s%26"));
	cr_expect(fake_account_takes(&a, TOKEN));
	cr_expect(fake_account_asks(&a, "ready"));
	a.kind->forget(a.data);
	cr_expect(fake_account_asks(&a, "POST https://login…"));
	fake_account_close(&a);
}

Test(azure_account, a_managed_identity_asks_the_instance_or_the_app_service)
{
	struct azure_config c = config_of(AZURE_MANAGED);
	struct fake_account a;

	open_account(&a, &c);
	cr_expect(fake_account_asks(
		&a, "GET http://169.254.169.254/metadata/identity/oauth2/token"
		    "?api-version=2018-02-01&resource="
		    "https%3A%2F%2Fmanagement.core.windows.net%2F&client_id=c\n"
		    "Metadata: true\n"));
	cr_expect(a.q.is_local);
	setenv("IDENTITY_ENDPOINT", "http://app/token", 1);
	cr_expect(strstr(fake_account_ask(&a), "is not supported"));
	setenv("IDENTITY_HEADER", "h", 1);
	cr_expect(fake_account_asks(&a, "GET http://app/token?api-version="
					"2019-08-01&resource=…"));
	cr_expect(strstr(fake_account_ask(&a), "X-IDENTITY-HEADER: h\n"));
	/* The App Service says when the token expires, not in how long. */
	cr_expect(!fake_account_takes(
		&a,
		"{\"access_token\": \"T\", \"expires_on\": \"1586984735\"}"));
	cr_expect(fake_account_takes(
		&a,
		"{\"access_token\": \"T\", \"expires_on\": \"9999999999\"}"));
	cr_expect(fake_account_asks(&a, "ready"));
	a.kind->forget(a.data);
	setenv("IDENTITY_SERVER_THUMBPRINT", "x", 1);
	cr_expect(strstr(fake_account_ask(&a), "is not supported"));
	fake_account_close(&a);
}

Test(azure_account, a_workload_has_a_token_in_a_file)
{
	struct azure_config c = config_of(AZURE_WORKLOAD);
	struct tempdir d = tempdir_make();
	struct fake_account a;
	char path[300];
	FILE *f;

	snprintf(path, sizeof(path), "%s/token", d.path);
	f = fopen(path, "w");
	cr_assert(f);
	fputs(" tok \n", f);
	fclose(f);
	open_account(&a, &c);
	cr_expect(strstr(fake_account_ask(&a), "AZURE_FEDERATED_TOKEN_FILE"));
	setenv("AZURE_CLIENT_ID", "ec", 1);
	setenv("AZURE_TENANT_ID", "et", 1);
	setenv("AZURE_FEDERATED_TOKEN_FILE", path, 1);
	cr_expect(strstr(fake_account_ask(&a), "/et/oauth2/v2.0/token\n"));
	cr_expect(strstr(fake_account_ask(&a), "client_assertion=tok"));
	setenv("AZURE_FEDERATED_TOKEN_FILE", "/nonexistent", 1);
	cr_expect(strstr(fake_account_ask(&a), "error: "));
	fake_account_close(&a);
	tempdir_fini(&d);
}

Test(azure_account, the_environment_decides_for_the_sdk)
{
	struct azure_config c = config_of(AZURE_SDK);
	struct fake_account a;

	open_account(&a, &c);
	cr_expect(fake_account_asks(&a, "GET http://169.254.169.254/…"));
	setenv("AZURE_USERNAME", "u", 1);
	cr_expect(strstr(fake_account_ask(&a), "are not supported"));
	setenv("AZURE_CLIENT_ID", "ec", 1);
	setenv("AZURE_TENANT_ID", "et", 1);
	setenv("AZURE_CLIENT_SECRET", "es", 1);
	cr_expect(strstr(fake_account_ask(&a), "client_secret=es"));
	fake_account_close(&a);
}

/* Decode a key of an entry; returns whether it has no mistake. */
static bool decodes(yaml_fn fn, const char *text, struct azure_config *c)
{
	struct yaml y;
	bool ok;

	yaml_parse(&y, "a", bytes_of(str_of(text)));
	fn(&y, y.root, c);
	ok = !y.error_count;
	yaml_fini(&y);
	return ok;
}

Test(azure_account, clouds_and_methods_have_names)
{
	struct azure_config c = { 0 };

	cr_expect(decodes(azure_decode_cloud, "azurechinacloud", &c));
	cr_expect(!strcmp(c.cloud->login, "https://login.chinacloudapi.cn/"));
	cr_expect(!decodes(azure_decode_cloud, "AzureMoon", &c));
	cr_expect(decodes(azure_decode_method, "WorkloadIdentity", &c));
	cr_expect(c.method == AZURE_WORKLOAD);
	cr_expect(!decodes(azure_decode_method, "workloadidentity", &c));
}

Test(bearer, a_token_is_used_until_shortly_before_its_end)
{
	struct azure_config c = config_of(AZURE_OAUTH);
	struct fake_account a;

	open_account(&a, &c);
	cr_expect(!bearer_is_fresh(a.data));
	cr_expect(fake_account_takes(&a, TOKEN));
	cr_expect(bearer_is_fresh(a.data));
	((struct bearer *)a.data)->renew_ms = 1;
	cr_expect(!bearer_is_fresh(a.data));
	bearer_forget(a.data);
	cr_expect(!bearer_is_fresh(a.data));
	fake_account_close(&a);
}

Test(bearer, answers_without_a_usable_token_are_refused)
{
	static const struct {
		long status;
		const char *body;
		const char *why;
	} cases[] = {
		{ 200, "{\"expires_in\": 5}", "no token" },
		{ 200, "{\"access_token\": \"a\\r\\nX: y\", \"expires_in\": 5}",
		  "no token" },
		{ 200, "{\"access_token\": \"a\"}", "no valid expires_in" },
		{ 200, "{\"access_token\": \"a\", \"expires_in\": -5}",
		  "no valid expires_in" },
		{ 400, "{\"error\": \"invalid_client\"}",
		  "HTTP status 400: invalid_client" },
		{ 400, "{\"error\": \"the secret is 5\"}", "HTTP status 400" },
	};
	struct azure_config c = config_of(AZURE_OAUTH);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fake_account a;
		const char *why;

		open_account(&a, &c);
		why = fake_account_give(&a, cases[i].status, "", cases[i].body);
		cr_expect(strstr(why, cases[i].why), "%s: %s", cases[i].body,
			  why);
		cr_expect(!strstr(why, "secret"), "%s", why);
		fake_account_close(&a);
	}
}
