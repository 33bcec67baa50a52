/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests in their wire format: each field of each request, and the tables of
 * messages, by which JSON becomes the same bytes.
 */
#include "pyroscope/wire/request.h"

#include <stdio.h>

#include "base/wire_write.h"
#include "pyroscope/wire/messages.h"
#include "tests/check.h"

/* Read a request that is written as JSON. */
static struct profile_request read_json(const struct message_type *type,
					const struct request_layout *layout,
					const char *json, struct buf *wire)
{
	struct profile_request r;
	struct err err = { .msg = "" };

	cr_assert(
		!transcode_from_json(type, bytes_of(str_of(json)), wire, &err),
		"%s", err.msg);
	cr_assert(!request_read(layout, buf_bytes(wire), &r, &err), "%s",
		  err.msg);
	return r;
}

Test(request, stacktraces_have_all_their_fields)
{
	struct buf wire = { 0 };
	struct profile_request r = read_json(
		&message_stacktraces_request, &request_stacktraces,
		"{\"profile_typeID\":\"t\",\"labelSelector\":\"{}\","
		"\"start\":\"5\",\"end\":6,\"maxNodes\":0,"
		"\"format\":\"PROFILE_FORMAT_DOT\",\"stackTraceSelector\":"
		"{\"callSite\":[{\"name\":\"main\"},{\"name\":\"f\"}],"
		"\"goPgo\":{\"keepLocations\":5},\"frameFilter\":"
		"{\"includeFunctionNames\":[\"a\"],"
		"\"excludeFunctionNames\":[\"b\",\"c\"],"
		"\"includeFunctionNameRegexes\":[\"d\"],"
		"\"excludeFunctionNameRegexes\":[\"e\"]}},"
		"\"profileIdSelector\":[\"p\"],\"traceIdSelector\":[\"q\"],"
		"\"spanSelector\":[\"r\",\"s\"]}",
		&wire);

	cr_expect(str_is(r.type_id, "t") && str_is(r.selector, "{}"));
	cr_expect(r.start == 5 && r.end == 6);
	cr_expect(r.has_max_nodes && r.max_nodes == 0);
	cr_expect(r.format == FORMAT_DOT);
	cr_expect(r.stacks.call_site.count == 2);
	cr_expect(str_is(r.stacks.call_site.v[1], "f"));
	cr_expect(r.stacks.go_pgo);
	cr_expect(r.stacks.include_names.count == 1);
	cr_expect(r.stacks.exclude_names.count == 2);
	cr_expect(str_is(r.stacks.include_regexes.v[0], "d"));
	cr_expect(str_is(r.stacks.exclude_regexes.v[0], "e"));
	cr_expect(r.profile_ids.count == 1 && r.trace_ids.count == 1);
	cr_expect(r.span_ids.count == 2);
	request_fini(&r);
	buf_fini(&wire);
}

Test(request, others_have_theirs)
{
	struct buf wire = { 0 };
	struct profile_request r = read_json(
		&message_select_series_request, &request_select_series,
		"{\"profileTypeID\":\"t\",\"groupBy\":[\"a\",\"b\"],"
		"\"step\":0.5,\"aggregation\":"
		"\"TIME_SERIES_AGGREGATION_TYPE_AVERAGE\",\"limit\":\"7\","
		"\"exemplarType\":\"EXEMPLAR_TYPE_INDIVIDUAL\"}",
		&wire);

	cr_expect(r.group_by.count == 2 && r.step == 0.5);
	cr_expect(r.aggregation == AGGREGATION_AVERAGE && r.limit == 7);
	request_fini(&r);
	buf_reset(&wire);
	r = read_json(&message_label_values_request, &request_label_values,
		      "{\"name\":\"n\",\"matchers\":[\"{}\"],\"start\":1,"
		      "\"end\":2}",
		      &wire);
	cr_expect(str_is(r.name, "n") && r.matchers.count == 1);
	cr_expect(r.start == 1 && r.end == 2);
	request_fini(&r);
	buf_reset(&wire);
	r = read_json(&message_series_request, &request_series,
		      "{\"matchers\":[],\"labelNames\":[\"a\"],\"end\":2}",
		      &wire);
	cr_expect(r.label_names.count == 1 && r.end == 2);
	request_fini(&r);
	buf_reset(&wire);
	r = read_json(&message_span_profile_request, &request_span_profile,
		      "{\"spanSelector\":[\"a\"],\"end\":2,\"maxNodes\":9}",
		      &wire);
	cr_expect(r.span_ids.count == 1 && r.end == 2 && r.max_nodes == 9);
	request_fini(&r);
	buf_reset(&wire);
	r = read_json(&message_diff_request, &request_diff,
		      "{\"left\":{\"start\":\"3\"},\"right\":{}}", &wire);
	cr_expect(r.left.len == 2 && !r.right.len);
	request_fini(&r);
	buf_fini(&wire);
}

/* Else a label could be copied a thousand times for each series. */
Test(request, a_label_is_asked_for_once)
{
	struct buf wire = { 0 };
	struct profile_request r;
	struct err err = { .msg = "" };
	char name[16];

	for (int i = 0; i < 1000; i++)
		wire_write_str(&wire, 5, str_of(i % 2 ? "a" : "b"));
	cr_assert(!request_read(&request_select_series, buf_bytes(&wire), &r,
				NULL));
	cr_expect(r.group_by.count == 2);
	cr_expect(str_is(r.group_by.v[0], "b"));
	request_fini(&r);
	buf_reset(&wire);
	for (int i = 0; i <= REQUEST_LABELS_MAX; i++) {
		snprintf(name, sizeof(name), "l%d", i);
		wire_write_str(&wire, 2, str_of(name));
	}
	cr_expect(request_read(&request_series, buf_bytes(&wire), &r, &err) ==
		  ERR_INVALID);
	cr_expect(strstr(err.msg, "128 labels"), "%s", err.msg);
	request_fini(&r);
	buf_fini(&wire);
}

Test(request, malformed_ones_are_refused)
{
	struct buf wire = { 0 };
	struct profile_request r;
	struct err err = { .msg = "" };

	/* A number where a text has to be. */
	wire_write_number(&wire, 1, 5);
	cr_expect(request_read(&request_stacktraces, buf_bytes(&wire), &r,
			       &err) == ERR_INVALID);
	cr_expect(strstr(err.msg, "field 1"), "%s", err.msg);
	request_fini(&r);
	buf_reset(&wire);
	wire_write_begin(&wire, 1, 100);
	cr_expect(request_read(&request_stacktraces, buf_bytes(&wire), &r,
			       &err) == ERR_INVALID);
	request_fini(&r);
	buf_reset(&wire);
	for (int i = 0; i <= REQUEST_LIST_MAX; i++)
		wire_write_str(&wire, 1, str_of("{}"));
	cr_expect(request_read(&request_label_names, buf_bytes(&wire), &r,
			       &err) == ERR_INVALID);
	cr_expect(strstr(err.msg, "1024"), "%s", err.msg);
	request_fini(&r);
	buf_fini(&wire);
}
