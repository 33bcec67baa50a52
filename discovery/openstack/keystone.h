/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accounts of OpenStack: a token and the catalog of services, from Keystone,
 * OpenStack's identity service.
 *
 * Source: docs.openstack.org/api-ref/identity/v3, "Password authentication" and
 * "Authenticating with an Application Credential".
 *
 * Ownership: an account owns the token and the catalog. Callers get copies.
 * Threads: the manager's loop.
 */
#ifndef DISCOVERY_OPENSTACK_KEYSTONE_H
#define DISCOVERY_OPENSTACK_KEYSTONE_H

#include "discovery/rest/rest_source.h"

struct keystone;

/* How to log in. Texts are borrowed; an empty text is absent. */
struct keystone_login {
	struct str identity_endpoint;
	struct str username;
	struct str userid;
	struct str password;
	struct str domain_name;
	struct str domain_id;
	struct str project_name;
	struct str project_id;
	struct str application_credential_name;
	struct str application_credential_id;
	struct str application_credential_secret;
};

/* An entry of a discovery that asks OpenStack. */
struct keystone_config {
	struct rest_config rest;
	/* if there is no identity_endpoint, the environment says how to log in */
	struct keystone_login login;
	struct str region;
	struct str availability; /* of endpoints: public, internal or admin */
};

/* The kind of account; the configuration must be a struct keystone_config. */
extern const struct rest_account_kind keystone_kind;

/*
 * Set *out to the URL of `path` at the service `service` of the catalog;
 * keystone_need() must have found that service. `version`, such as "/v2.0", is
 * added before `path`, unless the service's URL in the catalog ends with
 * `version` already. Always returns true, so that a function for the member
 * `url` of a struct rest_step can return this result.
 */
bool keystone_write_url(struct rest_run *r, const char *service,
			const char *version, const char *path, struct buf *out);

/*
 * Check that the catalog has an endpoint of the service `service` with the
 * configured region and availability. ERR_NOTFOUND: the catalog has none.
 */
NODISCARD int keystone_need(const struct rest_run *r, const char *service,
			    struct err *err);

/*
 * Add the token to a request; for the member `prepare` of a struct rest_table.
 */
void keystone_prepare(struct rest_run *r, struct rest_request *q);

#endif
