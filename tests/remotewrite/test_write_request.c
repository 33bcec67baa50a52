/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of the message of remote write. */
#include "remotewrite/wire/write_request.h"

#include "tests/check.h"
#include "tests/remotewrite/messages.h"

TestSuite(write_request, .timeout = 30);

/* Check a message and return the code; the sizes go to *size. */
static int check(const struct buf *m, struct write_request_size *size)
{
	return write_request_check(buf_bytes(m), size, NULL);
}

/* The text of the labels of the message's first series, or of the error. */
static void first_labels(const struct buf *m, struct buf *out)
{
	struct wire w = wire_init(buf_bytes(m));
	struct labels *labels = NULL;
	struct write_series s;
	struct err err;

	cr_assert(write_request_next(&w, &s));
	if (write_series_labels(&s, &labels, &err))
		buf_str(out, err.msg);
	else
		labels_text(labels, out);
	labels_unref(labels);
}

Test(write_request, series_and_samples_are_read_in_order)
{
	struct write_request_size size;
	struct write_sample sample;
	struct write_series s;
	struct buf series = { 0 };
	struct buf m = { 0 };
	struct wire w;

	/* Labels may come after samples, and in any order. */
	put_sample(&series, "one", 1000);
	put_label(&series, "job", "app");
	put_sample(&series, "two", -5);
	put_label(&series, "__name__", "heap");
	put_series(&m, &series);
	put_label(&series, "__name__", "empty");
	put_series(&m, &series);
	put_field(&m, 2, (struct bytes){ 0 }); /* an empty tenant */
	cr_assert(!check(&m, &size));
	cr_assert(size.series == 2);
	cr_expect(size.samples == 2);

	w = wire_init(buf_bytes(&m));
	cr_assert(write_request_next(&w, &s));
	cr_assert(write_series_next(&s, &sample));
	cr_expect(check_str(str_from(sample.value), "one"));
	cr_expect(sample.ms == 1000);
	cr_assert(write_series_next(&s, &sample));
	cr_expect(check_str(str_from(sample.value), "two"));
	cr_expect(sample.ms == -5);
	cr_expect(!write_series_next(&s, &sample));
	cr_assert(write_request_next(&w, &s));
	cr_expect(!write_series_next(&s, &sample));
	cr_expect(!write_request_next(&w, &s));
	first_labels(&m, &series);
	cr_expect(check_str(str_from(buf_bytes(&series)), "heap{job=\"app\"}"));
	buf_fini(&series);
	buf_fini(&m);
}

Test(write_request, an_empty_message_is_valid)
{
	struct write_request_size size = { 1, 1 };
	struct buf m = { 0 };

	cr_expect(!check(&m, &size));
	cr_assert(!size.series);
	cr_expect(!size.samples);
}

/* Every prefix of a message is refused, unless it ends between two series. */
Test(write_request, truncated_messages_are_refused)
{
	struct write_request_size size;
	struct buf series = { 0 };
	struct buf m = { 0 };
	size_t first;

	put_label(&series, "__name__", "heap");
	put_sample(&series, "value", 7);
	put_series(&m, &series);
	first = m.len;
	put_label(&series, "__name__", "profile");
	put_sample(&series, "value", 8);
	put_series(&m, &series);
	for (size_t i = 1; i < m.len; i++) {
		struct bytes b = { .ptr = m.ptr, .len = i };
		int rc = write_request_check(b, &size, NULL);

		cr_expect(rc == (i == first ? 0 : ERR_INVALID), "at %zu", i);
	}
	buf_fini(&m);
}

Test(write_request, fields_of_a_wrong_type_are_refused_and_unknown_ones_skipped)
{
	struct write_request_size size;
	struct buf series = { 0 };
	struct buf m = { 0 };
	struct err err;

	put_number(&m, 1, 5);
	cr_expect(write_request_check(buf_bytes(&m), &size, &err) ==
		  ERR_INVALID);
	cr_expect(
		strstr(err.msg,
		       "field 1 of message WriteRequest has wire type 0, not 2"),
		"%s", err.msg);
	buf_reset(&m);
	put_number(&series, 2, 5);
	put_series(&m, &series);
	cr_expect(check(&m, &size) == ERR_INVALID);
	buf_reset(&m);
	put_number(&m, 3, 5);
	put_field(&m, 77, bytes_of(str_of("unknown")));
	put_number(&series, 9, 5);
	put_series(&m, &series);
	cr_expect(!check(&m, &size));
	buf_reset(&m);
	put_field(&m, 2, bytes_of(str_of("tenant")));
	cr_expect(check(&m, &size) == ERR_INVALID);
	buf_fini(&m);
}

Test(write_request, more_samples_than_the_limit_are_refused)
{
	struct write_request_size size;
	struct buf series = { 0 };
	struct buf m = { 0 };

	for (int i = 0; i < WRITE_SAMPLES_MAX; i++)
		put_field(&series, 2, (struct bytes){ 0 });
	put_series(&m, &series);
	cr_expect(!check(&m, &size));
	put_field(&series, 2, (struct bytes){ 0 });
	put_series(&m, &series);
	cr_expect(check(&m, &size) == ERR_INVALID);
	buf_fini(&m);
}

Test(write_request, labels_that_no_series_can_have_are_refused)
{
	static const struct {
		const char *labels[6]; /* names and values */
		const char *want;
	} cases[] = {
		{ { "job", "a" },
		  "the label __name__, the profile type, is missing" },
		{ { "__name__", "", "job", "a" },
		  "the label __name__, the profile type, is missing" },
		{ { "__name__", "h", "a", "1", "a", "1" },
		  "the label \"a\" occurs twice" },
		{ { "__name__", "h", "__tenant__", "x" },
		  "label __tenant__ is reserved" },
		{ { "__name__", "h", "", "x" },
		  "the label with the value \"x\" has no name" },
		{ { "__name__", "h", "a", "\xff" },
		  "the name or value of label a is not UTF-8" },
		{ { "__name__", "h", "a", "", "b", "2" }, "h{b=\"2\"}" },
	};
	struct buf series = { 0 };
	struct buf text = { 0 };
	struct buf m = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (size_t k = 0; k < 6 && cases[i].labels[k]; k += 2)
			put_label(&series, cases[i].labels[k],
				  cases[i].labels[k + 1]);
		put_series(&m, &series);
		first_labels(&m, &text);
		cr_expect(check_str(str_from(buf_bytes(&text)), cases[i].want),
			  "case %zu", i);
		buf_reset(&m);
		buf_reset(&text);
	}
	for (int i = 0; i <= LABELS_MAX; i++) {
		char name[16];

		snprintf(name, sizeof(name), "n%d", i);
		put_label(&series, i ? name : "__name__", "v");
	}
	put_series(&m, &series);
	first_labels(&m, &text);
	cr_expect(check_str(str_from(buf_bytes(&text)),
			    "the label set has more than 128 labels"));
	buf_fini(&text);
	buf_fini(&m);
}
