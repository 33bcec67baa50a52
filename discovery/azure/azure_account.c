/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/azure/azure_account.h"

#include "base/env.h"
#include "base/mem.h"
#include "base/url.h"
#include "discovery/rest/bearer.h"

#define METADATA_URL     "http://169.254.169.254"
#define METADATA_PATH    "/metadata/identity/oauth2/token"
#define METADATA_VERSION "2018-02-01"
#define APP_VERSION      "2019-08-01"
#define JWT_ASSERTION    "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

struct azure_account {
	struct bearer bearer;
	const struct azure_config *config;
};

#define GLOBAL_LOGIN    "https://login.microsoftonline.com/"
#define GLOBAL_MANAGER  "https://management.azure.com"
#define GLOBAL_AUDIENCE "https://management.core.windows.net/"
#define US_LOGIN        "https://login.microsoftonline.us/"
#define US_MANAGER      "https://management.usgovcloudapi.net"
#define US_AUDIENCE     "https://management.core.usgovcloudapi.net/"

static const struct azure_cloud clouds[] = {
	{ "AzurePublicCloud", GLOBAL_LOGIN, GLOBAL_MANAGER, GLOBAL_AUDIENCE },
	{ "AzureCloud", GLOBAL_LOGIN, GLOBAL_MANAGER, GLOBAL_AUDIENCE },
	/* Germany's own cloud was closed in 2021. */
	{ "AzureGermanCloud", GLOBAL_LOGIN, GLOBAL_MANAGER, GLOBAL_AUDIENCE },
	{ "AzureChinaCloud", "https://login.chinacloudapi.cn/",
	  "https://management.chinacloudapi.cn",
	  "https://management.core.chinacloudapi.cn/" },
	{ "AzureUSGovernmentCloud", US_LOGIN, US_MANAGER, US_AUDIENCE },
	{ "AzureUSGovernment", US_LOGIN, US_MANAGER, US_AUDIENCE },
};

const struct azure_cloud *azure_public_cloud(void)
{
	return &clouds[0];
}

void azure_decode_cloud(struct yaml *y, const struct yaml_node *n, void *config)
{
	struct azure_config *c = config;
	struct str name = str_of("");

	yaml_text(y, n, &name);
	for (size_t i = 0; i < ARRAY_SIZE(clouds); i++) {
		if (str_is_nocase(name, clouds[i].name)) {
			c->cloud = &clouds[i];
			return;
		}
	}
	yaml_error(
		y, n,
		"environment must be AzurePublicCloud, AzureChinaCloud or AzureUSGovernmentCloud, not \"%.*s\"",
		STR_ARG(name));
}

void azure_decode_method(struct yaml *y, const struct yaml_node *n,
			 void *config)
{
	static const char *const methods[] = {
		[AZURE_OAUTH] = "OAuth",
		[AZURE_MANAGED] = "ManagedIdentity",
		[AZURE_SDK] = "SDK",
		[AZURE_WORKLOAD] = "WorkloadIdentity",
	};
	struct azure_config *c = config;
	struct str name = str_of("");

	yaml_text(y, n, &name);
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		if (str_is(name, methods[i])) {
			c->method = (enum azure_method)i;
			return;
		}
	}
	yaml_error(
		y, n,
		"authentication_method must be OAuth, ManagedIdentity, SDK or WorkloadIdentity, not \"%.*s\"",
		STR_ARG(name));
}

static void *azure_open(const struct rest_config *c)
{
	struct azure_account *a = mem_new(struct azure_account);

	a->config = (const struct azure_config *)c;
	return a;
}

static void azure_close(void *data)
{
	bearer_forget(data);
	mem_free(data);
}

/*
 * Begin the request for a token of the application `client`; the caller adds
 * the secret or the token that proves the identity.
 */
static void write_login(const struct azure_account *a, struct str tenant,
			struct str client, struct rest_request *q)
{
	const struct azure_cloud *cloud = a->config->cloud;
	char *scope = mem_printf("%s/.default", cloud->audience);

	buf_str(&q->url, cloud->login);
	url_escape(tenant, &q->url);
	buf_str(&q->url, "/oauth2/v2.0/token");
	url_add_field(&q->body, "grant_type", str_of("client_credentials"));
	url_add_field(&q->body, "client_id", client);
	url_add_field(&q->body, "scope", str_of(scope));
	mem_free(scope);
}

static void ask_by_secret(const struct azure_account *a, struct str tenant,
			  struct str client, struct str secret,
			  struct rest_request *q)
{
	write_login(a, tenant, client, q);
	url_add_field(&q->body, "client_secret", secret);
}

/*
 * Write a request that proves the identity by the token in the file `path`. The
 * file is read for each request.
 */
static int ask_by_token_file(const struct azure_account *a, struct str tenant,
			     struct str client, struct str path,
			     struct rest_request *q, struct err *err)
{
	char *token = NULL;
	int rc = rest_token_read(path.ptr, &token, err);

	if (rc)
		return rc;
	write_login(a, tenant, client, q);
	url_add_field(&q->body, "client_assertion_type", str_of(JWT_ASSERTION));
	url_add_field(&q->body, "client_assertion", str_of(token));
	mem_forget(token);
	return 0;
}

/*
 * Write the request for the token of a managed identity: to App Service, if
 * the environment has its endpoint, else to the instance's metadata service.
 */
static int ask_managed(const struct azure_account *a, struct str client,
		       struct rest_request *q, struct err *err)
{
	struct str app = env_text("IDENTITY_ENDPOINT");
	struct str header = env_text("IDENTITY_HEADER");
	struct str base = env_text("AZURE_POD_IDENTITY_AUTHORITY_HOST");
	struct str other = env_text("MSI_ENDPOINT");

	if ((app.len && !header.len) || (other.len && !app.len) ||
	    env_text("IDENTITY_SERVER_THUMBPRINT").len)
		return err_set(
			err, ERR_UNSUPPORTED,
			"an environment variable (IDENTITY_ENDPOINT, MSI_ENDPOINT or IDENTITY_SERVER_THUMBPRINT) names a managed identity of Service Fabric, Azure Arc, Cloud Shell or Azure ML, which is not supported: use authentication_method OAuth or WorkloadIdentity");
	if (!base.len)
		base = str_of(METADATA_URL);
	if (app.len) {
		buf_add(&q->url, app.ptr, app.len);
		url_add_param(&q->url, "api-version", str_of(APP_VERSION));
		rest_header_add(q, "X-IDENTITY-HEADER", header);
	} else {
		buf_printf(&q->url, "%.*s%s", STR_ARG(base), METADATA_PATH);
		url_add_param(&q->url, "api-version", str_of(METADATA_VERSION));
		rest_header_add(q, "Metadata", str_of("true"));
	}
	url_add_param(&q->url, "resource", str_of(a->config->cloud->audience));
	if (client.len)
		url_add_param(&q->url, "client_id", client);
	q->is_local = true;
	return 0;
}

/* Write the request for the token of a workload identity. */
static int ask_workload(const struct azure_account *a, struct rest_request *q,
			struct err *err)
{
	struct str client = env_text("AZURE_CLIENT_ID");
	struct str tenant = env_text("AZURE_TENANT_ID");
	struct str path = env_text("AZURE_FEDERATED_TOKEN_FILE");

	if (!client.len || !tenant.len || !path.len)
		return err_set(
			err, ERR_INVALID,
			"a workload identity needs AZURE_CLIENT_ID, AZURE_TENANT_ID and AZURE_FEDERATED_TOKEN_FILE in the environment: %s is missing",
			!client.len ? "AZURE_CLIENT_ID" :
			!tenant.len ? "AZURE_TENANT_ID" :
				      "AZURE_FEDERATED_TOKEN_FILE");
	return ask_by_token_file(a, tenant, client, path, q, err);
}

/*
 * Write the request for a token of the first identity that the environment
 * names, or else of the managed identity.
 */
static int ask_environment(const struct azure_account *a,
			   struct rest_request *q, struct err *err)
{
	struct str client = env_text("AZURE_CLIENT_ID");
	struct str tenant = env_text("AZURE_TENANT_ID");
	struct str secret = env_text("AZURE_CLIENT_SECRET");

	if (client.len && tenant.len && secret.len) {
		ask_by_secret(a, tenant, client, secret, q);
		return 0;
	}
	if (env_text("AZURE_CLIENT_CERTIFICATE_PATH").len ||
	    env_text("AZURE_USERNAME").len)
		return err_set(
			err, ERR_UNSUPPORTED,
			"AZURE_CLIENT_CERTIFICATE_PATH and AZURE_USERNAME are not supported: unset them, and use AZURE_CLIENT_SECRET, AZURE_FEDERATED_TOKEN_FILE or a managed identity");
	if (env_text("AZURE_FEDERATED_TOKEN_FILE").len)
		return ask_workload(a, q, err);
	return ask_managed(a, client, q, err);
}

static int azure_next(void *data, struct rest_request *q, struct err *err)
{
	struct azure_account *a = data;
	const struct azure_config *c = a->config;

	if (bearer_is_fresh(&a->bearer))
		return 0;
	switch (c->method) {
	case AZURE_MANAGED:
		return ask_managed(a, c->client_id, q, err);
	case AZURE_SDK:
		return ask_environment(a, q, err);
	case AZURE_WORKLOAD:
		return ask_workload(a, q, err);
	case AZURE_OAUTH:
		break;
	}
	ask_by_secret(a, c->tenant_id, c->client_id, c->client_secret, q);
	return 0;
}

static int azure_take(void *data, const struct http_response *r,
		      struct err *err)
{
	struct azure_account *a = data;

	return bearer_take(&a->bearer, r, err);
}

const struct rest_account_kind azure_account_kind = {
	.open = azure_open,
	.next = azure_next,
	.take = azure_take,
	.forget = bearer_forget,
	.close = azure_close,
};
