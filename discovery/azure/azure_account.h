/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accounts of Microsoft Azure. They get tokens for the Azure Resource Manager
 * as an application, a managed identity or a workload identity.
 *
 * Sources: learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow;
 * learn.microsoft.com/entra/identity/managed-identities-azure-resources/how-to-use-vm-token;
 * learn.microsoft.com/azure/app-service/overview-managed-identity.
 *
 * Threads: the manager's loop.
 */
#ifndef DISCOVERY_AZURE_AZURE_ACCOUNT_H
#define DISCOVERY_AZURE_AZURE_ACCOUNT_H

#include "discovery/rest/rest_account.h"

/* One of Microsoft's clouds. */
struct azure_cloud {
	const char *name;
	const char *login;    /* URL of the server that gives tokens */
	const char *manager;  /* URL of the resource manager */
	const char *audience; /* the resource that tokens are for */
};

/* How tokens are got; the values of authentication_method. */
enum azure_method {
	AZURE_OAUTH,   /* "OAuth": secret of an application */
	AZURE_MANAGED, /* "ManagedIdentity" */
	AZURE_SDK,     /* "SDK": the identity that the environment names */
	AZURE_WORKLOAD /* "WorkloadIdentity": a token in a file */
};

/* An entry of a discovery that asks Azure. Text is borrowed. */
struct azure_config {
	struct rest_config rest;
	const struct azure_cloud *cloud;
	enum azure_method method;
	struct str subscription_id;
	struct str tenant_id;
	struct str client_id;
	struct str client_secret;
	struct str resource_group;
};

/*
 * The kind of account for Azure; the data of an account begins with a struct
 * bearer.
 */
extern const struct rest_account_kind azure_account_kind;

/* Decode `environment`, into a struct azure_config. */
void azure_decode_cloud(struct yaml *y, const struct yaml_node *n,
			void *config);

/* Decode `authentication_method`, into a struct azure_config. */
void azure_decode_method(struct yaml *y, const struct yaml_node *n,
			 void *config);

/* Return the cloud that is used unless another is configured. */
const struct azure_cloud *azure_public_cloud(void);

#endif
