/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accounts of AWS. They provide access keys and the region. The keys come from
 * the configuration, the environment, the files with profiles (aws_profile.h),
 * the agent of a container or the metadata service of the instance, or they
 * belong to an assumed role.
 *
 * Sources: docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html;
 * AWS Security Token Service API Reference, "AssumeRole" and
 * "AssumeRoleWithWebIdentity"; Amazon EC2 User Guide, "Instance metadata".
 *
 * Ownership: an account owns what it returns.
 * Threads: the manager's loop.
 */
#ifndef DISCOVERY_AWS_AWS_ACCOUNT_H
#define DISCOVERY_AWS_AWS_ACCOUNT_H

#include "discovery/aws/aws_plan.h"
#include "discovery/rest/rest_account.h"

struct aws_account;

/* The kind of account; the configuration must be a struct aws_config. */
extern const struct rest_account_kind aws_account_kind;

/* Return the region, which is known as soon as the account has credentials. */
const char *aws_account_region(const struct aws_account *a);

/*
 * Set the members of `q` by which rest_request_start() signs the request with
 * the keys of the account; `q` borrows the keys. `service` is the AWS service
 * that gets the request, such as "ec2".
 */
void aws_account_sign(struct aws_account *a, const char *service,
		      struct rest_request *q);

/*
 * Return the domain of the host names of AWS services in `region`, such as
 * "amazonaws.com".
 */
const char *aws_domain(struct str region);

/*
 * Return the URL of a service from the environment: from `variable`, which is
 * AWS_ENDPOINT_URL_<SERVICE>, or else from AWS_ENDPOINT_URL. NULL: there is
 * none, or AWS_IGNORE_CONFIGURED_ENDPOINT_URLS is true.
 */
const char *aws_env_endpoint(const char *variable);

#endif
