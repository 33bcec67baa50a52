/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/rest/bearer.h"

#include "base/clock.h"
#include "base/mem.h"

/* Limit on the life of a token, so that times cannot overflow. */
#define LIFE_MAX_S 31536000

bool bearer_is_fresh(const struct bearer *b)
{
	return b->token && clock_ms(NULL) < b->renew_ms;
}

/*
 * Return the time when the token in an answer expires, in ms since the Unix
 * epoch; `root` is the root of the answer. If the answer names no such time, or
 * if the token has expired already, return the current time. An answer has the
 * seconds that are left (`expires_in`), or only the second at which the token
 * expires (`expires_on`: Azure's App Service).
 */
static int64_t bearer_expiry(const struct yaml_node *root)
{
	int64_t now_s = clock_ms(NULL) / 1000;
	int64_t in_s = doc_int(root, "expires_in", 0);
	int64_t on_s = doc_int(root, "expires_on", 0);

	if (in_s <= 0 && on_s > now_s)
		in_s = on_s - now_s;
	if (in_s > LIFE_MAX_S)
		in_s = LIFE_MAX_S;
	return clock_ms(NULL) + (in_s > 0 ? in_s : 0) * 1000;
}

/* Set *b to the token in `root`, the root of an answer. */
static int bearer_set(struct bearer *b, const struct yaml_node *root,
		      struct err *err)
{
	struct str token = doc_text(root, "access_token");

	if (!token.len || !rest_can_send(token))
		return err_set(
			err, ERR_INVALID,
			"the answer has no token: access_token is missing or not valid");
	if (rest_renewal(bearer_expiry(root), &b->renew_ms, err))
		return err_set(
			err, ERR_INVALID,
			"the answer has no valid expires_in (a number of seconds above 0), and no expires_on in the future");
	bearer_forget(b);
	b->token = mem_strndup(token);
	return 0;
}

int bearer_take(struct bearer *b, const struct http_response *a,
		struct err *err)
{
	struct yaml y;
	int rc = rest_answer_parse(a, false, &y, err);

	if (rc)
		return rc;
	rc = bearer_set(b, y.root, err);
	yaml_fini(&y);
	return rc;
}

void bearer_forget(void *data)
{
	struct bearer *b = data;

	mem_forget(b->token);
	b->token = NULL;
}

void bearer_prepare(struct rest_run *r, struct rest_request *q)
{
	const struct bearer *b = r->account;
	char *value = mem_printf("Bearer %s", b->token);

	rest_header_add(q, "Authorization", str_of(value));
	mem_forget(value);
}
