/* SPDX-License-Identifier: Apache-2.0 */
#include "push/receive/push_v1.h"

#include "base/transcode.h"
#include "push/wire/push_request.h"

/* Store the profiles of a series of push.v1. */
static int push_v1_series(struct pushing *p, struct push_series *s,
			  struct err *err)
{
	struct labels_builder sent = { 0 };
	struct bytes profile;
	int rc = 0;

	push_request_labels(s, &sent);
	while (!rc && push_request_profile(s, &profile))
		rc = pushing_store(p, &sent, profile, err);
	labels_builder_fini(&sent);
	return rc;
}

int push_v1_take(struct pushing *p, struct err *err)
{
	struct buf inflated = { 0 };
	struct buf converted = { 0 };
	struct bytes message = { NULL, 0 };
	struct push_series s;
	struct wire w;
	bool is_json;
	int rc = transcode_format(p->in->content_type, &is_json, err);

	if (rc)
		return rc;
	rc = pushing_decode(p, &inflated, &message, err);
	if (!rc && is_json)
		rc = pushing_from_json(p, push_request_from_json, &message,
				       &converted, err);
	if (!rc)
		rc = push_request_check(message, &p->profiles, err);
	w = wire_init(message);
	while (!rc && push_request_next(&w, &s)) {
		rc = pushing_check_time(p, err);
		if (!rc)
			rc = push_v1_series(p, &s, err);
	}
	buf_fini(&inflated);
	buf_fini(&converted);
	return rc;
}
