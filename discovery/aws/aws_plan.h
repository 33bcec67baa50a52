/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans: where the credentials for AWS come from. As in AWS' libraries, keys or
 * a profile in the configuration come first, then keys or a web identity in the
 * environment, then the profile that the environment names, or else the profile
 * "default" (see aws_profile.h). A profile has keys or names another source. If
 * it does neither, the source is the agent of the container, if there is one,
 * or else the metadata service of the instance.
 *
 * Source: docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html.
 *
 * Ownership: a plan owns its texts.
 * Threads: one thread per plan; the environment must not change.
 */
#ifndef DISCOVERY_AWS_AWS_PLAN_H
#define DISCOVERY_AWS_AWS_PLAN_H

#include "discovery/aws/aws_profile.h"
#include "discovery/rest/rest_config.h"

/*
 * An entry of the configuration for a discovery that asks AWS. Its texts are
 * borrowed.
 */
struct aws_config {
	struct rest_config rest;
	struct str region;
	struct str access_key;
	struct str secret_key;
	struct str profile;
	struct str role_arn;
	struct str external_id;
};

/*
 * Where the first credentials come from. With these credentials, the roles of
 * the plan are then assumed.
 */
enum aws_source {
	AWS_KEYS, /* the plan has the keys */
	/* the security token service gives keys for a token in a file */
	AWS_WEB_IDENTITY,
	AWS_CONTAINER, /* the agent of the container gives keys */
	AWS_METADATA   /* the metadata service of the instance gives keys */
};

/* An access key. */
struct aws_keys {
	char *id; /* NULL: there is none */
	char *secret;
	char *token; /* session token; NULL: none */
	/*
	 * when the keys must be renewed, in ms since the epoch; INT64_MAX:
	 * never
	 */
	int64_t renew_ms;
};

/* A role to be assumed. */
struct aws_role {
	char *arn;
	char *session;     /* name of the session */
	char *external_id; /* NULL: none */
};

/* How credentials are to be got. */
struct aws_plan {
	enum aws_source source;
	struct aws_keys keys;       /* for AWS_KEYS */
	char *token_file;           /* for AWS_WEB_IDENTITY */
	struct aws_role web;        /* the role for AWS_WEB_IDENTITY */
	VEC(struct aws_role) roles; /* assumed one after the other */
	char *region;               /* NULL: ask the metadata service */
};

/*
 * Make a plan. The caller calls aws_plan_fini() in every case. ERR_INVALID: the
 * environment or a profile is incomplete, or has a value that cannot be used,
 * or too many profiles refer to each other. ERR_NOTFOUND: the profile that is
 * asked for does not exist. ERR_UNSUPPORTED: a profile asks for a way to log in
 * that is not supported. Other errors: a file with profiles exists and cannot
 * be read.
 */
NODISCARD int aws_plan_make(struct aws_plan *plan, const struct aws_config *c,
			    struct err *err);

/* Free the texts, and wipe the keys. */
void aws_plan_fini(struct aws_plan *plan);

/*
 * Replace *k by copies of the given texts; an empty `token` means that there is
 * no session token.
 */
void aws_keys_set(struct aws_keys *k, struct str id, struct str secret,
		  struct str token, int64_t renew_ms);

/* Free keys, and wipe them. */
void aws_keys_fini(struct aws_keys *k);

#endif
