/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The message push.v1.PushRequest: what is read of it, what is skipped, and
 * which messages are refused.
 */
#include "push/wire/push_request.h"

#include <stdlib.h>

#include "tests/check.h"
#include "tests/remotewrite/messages.h"

TestSuite(push_request, .timeout = 60);

/* Make a message of one series with two labels and two profiles. */
static void make_message(struct buf *out)
{
	struct buf series = { 0 };
	struct buf sample = { 0 };

	put_label(&series, "__name__", "cpu");
	put_label(&series, "job", "shop");
	put_field(&sample, 1, bytes_of(str_of("one")));
	put_field(&sample, 2, bytes_of(str_of("an ID")));
	put_field(&series, 2, buf_bytes(&sample));
	buf_reset(&sample);
	put_field(&sample, 1, bytes_of(str_of("two")));
	put_field(&series, 2, buf_bytes(&sample));
	put_field(&series, 3,
		  bytes_of(str_of("\x0a\x01"
				  "a")));
	put_field(out, 1, buf_bytes(&series));
	put_number(out, 9, 5);
	buf_fini(&sample);
	buf_fini(&series);
}

Test(push_request, series_have_labels_and_profiles)
{
	static const char *const profiles[] = { "one", "two" };
	struct labels_builder b = { 0 };
	struct buf message = { 0 };
	struct push_series s;
	struct bytes profile;
	struct wire w;
	size_t count;

	make_message(&message);
	cr_assert(!push_request_check(buf_bytes(&message), &count, NULL));
	cr_expect(count == 2);
	w = wire_init(buf_bytes(&message));
	cr_assert(push_request_next(&w, &s));
	push_request_labels(&s, &b);
	cr_expect(b.count == 2);
	cr_expect(check_str(labels_builder_get(&b, str_of("job")), "shop"));
	for (size_t i = 0; i < ARRAY_SIZE(profiles); i++) {
		cr_assert(push_request_profile(&s, &profile));
		cr_expect(check_str(str_from(profile), profiles[i]));
	}
	cr_expect(!push_request_profile(&s, &profile));
	cr_expect(!push_request_next(&w, &s));
	labels_builder_fini(&b);
	buf_fini(&message);
}

Test(push_request, a_message_that_is_cut_short_is_refused)
{
	struct buf message = { 0 };
	size_t series;

	make_message(&message);
	series = message.len - 2; /* a field of two bytes follows */
	for (size_t n = 1; n < message.len; n++) {
		/* A copy of its own, so that a sanitizer sees its end. */
		uint8_t *copy = malloc(n);
		struct err err = { .msg = "" };
		size_t count;
		int rc;

		memcpy(copy, message.ptr, n);
		rc = push_request_check((struct bytes){ copy, n }, &count,
					&err);
		cr_expect(rc == (n == series ? 0 : ERR_INVALID), "%zu bytes",
			  n);
		free(copy);
	}
	buf_fini(&message);
}

Test(push_request, the_bytes_of_labels_are_limited)
{
	struct buf series = { 0 };
	struct buf message = { 0 };
	char *value = calloc(PUSH_LABELS_BYTES_MAX + 1, 1);
	struct err err = { .msg = "" };
	size_t count;

	memset(value, 'v', PUSH_LABELS_BYTES_MAX);
	put_label(&series, "a", value);
	put_field(&message, 1, buf_bytes(&series));
	cr_expect(push_request_check(buf_bytes(&message), &count, &err) ==
		  ERR_INVALID);
	cr_expect(strstr(err.msg, "bytes of labels"), "%s", err.msg);
	free(value);
	buf_fini(&series);
	buf_fini(&message);
}
