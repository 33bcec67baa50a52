/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes requests of Pyroscope's API. The first byte of an input chooses the
 * message and whether it is JSON. What is read from JSON must be read from the
 * wire format that it becomes, and be written as JSON again.
 */
#include <stdlib.h>

#include "pyroscope/names/profile_query.h"
#include "pyroscope/wire/messages.h"
#include "pyroscope/wire/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct {
	const struct message_type *type;
	const struct request_layout *layout;
} requests[] = {
	{ &message_range_request, &request_range },
	{ &message_label_names_request, &request_label_names },
	{ &message_label_values_request, &request_label_values },
	{ &message_series_request, &request_series },
	{ &message_select_series_request, &request_select_series },
	{ &message_stacktraces_request, &request_stacktraces },
	{ &message_span_profile_request, &request_span_profile },
	{ &message_profile_request, &request_profile },
	{ &message_diff_request, &request_diff },
	{ &message_profile, NULL },
};

/* Samples may have some labels. */
static bool fuzz_may_have(void *ctx UNUSED, struct str name)
{
	return name.len % 2;
}

/* Read a request, and the selector in it. */
static void fuzz_read(const struct request_layout *layout, struct bytes wire)
{
	const struct sample_label_test samples = { fuzz_may_have, NULL };
	struct profile_request r;
	struct profile_query q;
	struct err err = { .msg = "" };

	if (request_read(layout, wire, &r, &err)) {
		if (!*err.msg)
			abort();
	} else {
		if (profile_query_parse(&q, &samples, r.type_id, r.selector,
					&err)) {
			if (!*err.msg)
				abort();
		} else if (!q.any_count) {
			abort();
		}
		profile_query_fini(&q);
	}
	request_fini(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct limits limits;
	struct buf wire = { 0 };
	struct buf json = { 0 };
	struct bytes body;
	struct err err = { .msg = "" };
	size_t i;

	if (!size)
		return 0;
	i = data[0] / 2 % ARRAY_SIZE(requests);
	body = (struct bytes){ data + 1, size - 1 };
	if (data[0] % 2) {
		if (transcode_from_json(requests[i].type, body, &wire, &err)) {
			if (!*err.msg)
				abort();
		} else if (transcode_to_json(requests[i].type, buf_bytes(&wire),
					     &json, &limits, &err)) {
			abort();
		}
		body = buf_bytes(&wire);
	} else if (transcode_to_json(requests[i].type, body, &json, &limits,
				     &err) &&
		   !*err.msg) {
		abort();
	}
	if (requests[i].layout)
		fuzz_read(requests[i].layout, body);
	buf_fini(&wire);
	buf_fini(&json);
	return 0;
}
