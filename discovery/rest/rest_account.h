/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accounts: how a service discovery gets the credentials for an API if the
 * configured HTTP options (http_options.h) are not enough. Examples of such
 * credentials are tokens from other servers, and keys from a metadata service.
 *
 * A kind of account is a state machine that sends nothing itself: next() writes
 * the request that is needed next, and take() reads the answer to that request.
 * rest_account.c sends the requests, and limits their time and number.
 *
 * Ownership: a provider owns its account.
 * Threads: the manager's loop.
 */
#ifndef DISCOVERY_REST_REST_ACCOUNT_H
#define DISCOVERY_REST_REST_ACCOUNT_H

#include "discovery/rest/rest_config.h"
#include "discovery/rest/rest_request.h"

struct rest_account;

/* A kind of account. */
struct rest_account_kind {
	/* Makes the data of an account. */
	void *(*open)(const struct rest_config *c);
	/*
	 * Writes the request that is needed next; leaves q->url empty if the
	 * credentials are there, and valid for long enough.
	 */
	int (*next)(void *data, struct rest_request *q, struct err *err);
	/*
	 * Takes the answer to the request that next() wrote. If no complete
	 * answer arrived, a->code is not 0. The status of a complete answer can
	 * still be an error status. Returning an error ends the refresh.
	 */
	int (*take)(void *data, const struct http_response *a, struct err *err);
	/* Forgets the credentials, because an API has refused them. */
	void (*forget)(void *data);
	/* Wipes the credentials, and frees the data. */
	void (*close)(void *data);
};

/* Result of rest_account_get() while requests for credentials are under way. */
#define REST_ACCOUNT_PENDING 1

/*
 * Called when the credentials are there (`err` is NULL), or when they could not
 * be obtained (`err` says why).
 */
typedef void (*rest_account_fn)(struct provider *p, const struct err *err);

/* Make an account for a provider. */
struct rest_account *rest_account_new(struct provider *p,
				      const struct rest_account_kind *kind);

/* Free an account, and cancel its request. NULL is a no-op. */
void rest_account_free(struct rest_account *a);

/*
 * Get the credentials. Returns 0 if the credentials are there already,
 * REST_ACCOUNT_PENDING if ready() will be called later, or an error. `http` has
 * the configured HTTP options, and is borrowed while requests for credentials
 * are under way.
 */
NODISCARD int rest_account_get(struct rest_account *a, struct http_config *http,
			       rest_account_fn ready, struct err *err);

/* Forget the credentials, because an API has refused them. */
void rest_account_forget(struct rest_account *a);

/* Return the data that kind->open() made. */
void *rest_account_data(struct rest_account *a);

/*
 * Read a token from the file `path`, without the white space around it. The
 * caller owns *out, and frees it with mem_forget(), because it is a secret.
 */
NODISCARD int rest_token_read(const char *path, char **out, struct err *err);

/*
 * Return whether a text from a server can be sent in a header: it has no
 * control characters, which could begin another header.
 */
bool rest_can_send(struct str text);

/*
 * Set *renew_ms to the time when credentials that expire at `expires_ms` should
 * be renewed: five minutes before they expire or, if they expire in less than
 * ten minutes, after half of the time that is left. Both times are in ms since
 * the epoch. ERR_INVALID: the credentials have expired already.
 */
NODISCARD int rest_renewal(int64_t expires_ms, int64_t *renew_ms,
			   struct err *err);

/*
 * Check that the request succeeded, with a status of 200 to 299. Otherwise the
 * error message contains the API's error code, if one is found in the body of
 * the answer. Without such a code, the message can contain other text of the
 * body, but only if the request had no secret, because a server could repeat
 * the secret.
 */
NODISCARD int rest_answer_check(const struct http_response *a, bool is_xml,
				struct err *err);

/*
 * Return the error code in an answer, or an empty text if none is found. A text
 * that does not look like an error code is not returned, because the text could
 * be a secret.
 */
struct str rest_answer_code(const struct yaml_node *root);

/*
 * Check an answer as rest_answer_check() does, and parse it, as JSON or XML.
 * On success the caller calls yaml_fini().
 */
NODISCARD int rest_answer_parse(const struct http_response *a, bool is_xml,
				struct yaml *y, struct err *err);

#endif
