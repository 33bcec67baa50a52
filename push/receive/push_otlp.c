/* SPDX-License-Identifier: Apache-2.0 */
#include "push/receive/push_otlp.h"

#include "convert/otlp/otlp_convert.h"
#include "convert/otlp/otlp_json.h"

/* Implement otlp_options.refuse. */
static void push_otlp_refuse(void *ctx, const struct err *why)
{
	struct pushing *p = ctx;

	pushing_refuse(p, NULL, why);
	pushing_note(p, str_of(""), PUSH_REFUSED, why);
}

/* Convert the profiles of OTLP, and store them. */
static int push_otlp_message(struct pushing *p, struct bytes message,
			     struct err *err)
{
	struct arena arena = { 0 };
	struct str names[PUSH_RESOURCE_LABELS_MAX];
	const struct otlp_options o = {
		.caller = pushing_caller(p),
		.resource_labels = names,
		.resource_label_count =
			push_rules_resource_labels(p->r->rules, &arena, names),
		.name = push_types_otlp_name,
		.refuse = push_otlp_refuse,
	};
	struct otlp_result result;
	int rc = otlp_convert(message, &o, &result, err);

	/* One that is refused may have been several, or a part of one. */
	p->profiles = result.profiles;
	p->refused = result.refused;
	arena_fini(&arena);
	return rc;
}

int push_otlp_take(struct pushing *p, struct err *err)
{
	struct buf inflated = { 0 };
	struct buf converted = { 0 };
	struct bytes message = { NULL, 0 };
	bool is_json;
	int rc = otlp_json_format(p->in->content_type, &is_json, err);

	if (rc)
		return rc;
	rc = pushing_decode(p, &inflated, &message, err);
	if (!rc && is_json)
		rc = pushing_from_json(p, otlp_json_request, &message,
				       &converted, err);
	if (!rc)
		rc = push_otlp_message(p, message, err);
	buf_fini(&inflated);
	buf_fini(&converted);
	return rc;
}
