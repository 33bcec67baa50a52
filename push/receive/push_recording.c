/* SPDX-License-Identifier: Apache-2.0 */
#include "push/receive/push_recording.h"

/* Note that a recording has nothing that is kept, or that a part of it is missing. */
static void push_recording_judge(struct pushing *p,
				 const struct jfr_result *result)
{
	static const struct err empty = {
		.msg = "the recording has no samples of a kind that is kept"
	};

	p->profiles += result->profiles;
	if (result->is_cut) {
		(void)err_set(
			&p->damage, ERR_CORRUPT,
			"%s; what comes before the damage is stored, so do not send the recording again",
			result->why.msg);
		pushing_note(p, p->origin.app, PUSH_REFUSED, &p->damage);
	} else if (!result->profiles) {
		pushing_note(p, p->origin.app, PUSH_DROPPED, &empty);
	}
}

int push_recording_take(struct pushing *p, struct bytes recording,
			struct jfr_options *o, struct err *err)
{
	enum compression c = compressed_body_sniff(recording);
	struct jfr_result result = { .profiles = 0 };
	struct buf inflated = { 0 };
	int64_t taken = p->taken;
	int rc = 0;

	o->caller = pushing_caller(p);
	p->is_converted = true;
	if (c != COMPRESSION_NONE)
		rc = pushing_inflate(p, c, recording, &inflated, &recording,
				     err);
	if (!rc)
		rc = jfr_convert(recording, o, &result, err);
	if (!rc)
		push_recording_judge(p, &result);
	buf_fini(&inflated);
	p->taken = taken; /* for the next one of the request */
	return rc;
}
