/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accounts of Google Cloud. They get tokens through Application Default
 * Credentials: from the file that GOOGLE_APPLICATION_CREDENTIALS names, or else
 * from the user's credentials file in ~/.config/gcloud, or else from the
 * metadata server of the instance.
 *
 * Sources: cloud.google.com/docs/authentication/application-default-credentials;
 * developers.google.com/identity/protocols/oauth2/service-account; RFC 7523.
 *
 * Threads: the manager's loop.
 */
#ifndef DISCOVERY_GOOGLE_GOOGLE_ACCOUNT_H
#define DISCOVERY_GOOGLE_GOOGLE_ACCOUNT_H

#include "discovery/rest/rest_account.h"

/*
 * The kind of account for Google Cloud; the data of an account begins with a
 * struct bearer.
 */
extern const struct rest_account_kind google_account_kind;

#endif
