/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of remote write that are built are read as what went in. */
#include "remotewrite/wire/write_builder.h"

#include "base/gzip.h"
#include "base/hash.h"
#include "base/zstd.h"
#include "remotewrite/wire/write_request.h"
#include "tests/check.h"

TestSuite(write_builder, .timeout = 30);

#define RAW_MAX 5000

/* A sample whose body is `raw`, stored in this encoding into `body`. */
static struct logged_sample make(enum body_encoding e, struct bytes raw,
				 int64_t ms, struct buf *body)
{
	struct logged_sample s = { .ms = ms,
				   .raw_len = (uint32_t)raw.len,
				   .hash = hash_bytes(raw),
				   .encoding = e };

	buf_reset(body);
	if (e == BODY_DEFLATE) {
		struct gzip *g = gzip_new();

		gzip_compress(g, 6, raw, body);
		gzip_free(g);
	} else if (e == BODY_ZSTD) {
		struct zstd *z = zstd_new();

		zstd_compress(z, 1, &raw, 1, body);
		zstd_free(z);
	} else {
		buf_add(body, raw.ptr, raw.len);
	}
	s.body = buf_bytes(body);
	return s;
}

static struct labels *make_labels(const char *job)
{
	struct labels_builder b = { 0 };
	struct labels *out = NULL;

	labels_set(&b, str_of("__name__"), str_of("heap"));
	labels_set(&b, str_of("job"), str_of(job));
	cr_assert(!labels_build(&b, &out, NULL));
	labels_builder_fini(&b);
	return out;
}

Test(write_builder, samples_of_all_encodings_are_read_back)
{
	static const size_t sizes[] = { 0, 1, 127, 128, 5000 };
	static const int64_t times[] = { 0, 1, 1795232204000, -7, INT64_MIN };
	struct write_builder *b = write_builder_new();
	struct labels *labels = make_labels("app");
	struct write_request_size size;
	struct write_series series;
	uint8_t text[RAW_MAX];
	struct buf encoded = { 0 };
	struct buf message = { 0 };
	struct buf body = { 0 };
	struct wire w;

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (uint8_t)(i * i >> 4);
	write_labels_encode(labels, &encoded);
	for (size_t i = 0; i < 15; i++) {
		struct bytes raw = { .ptr = text, .len = sizes[i % 5] };
		struct logged_sample s = make((enum body_encoding)(i / 5), raw,
					      times[i % 5], &body);
		size_t before = message.len;

		cr_assert(!write_builder_add(b, buf_bytes(&encoded), &s,
					     &message, NULL));
		cr_expect(message.len - before == write_sample_size(encoded.len,
								    s.raw_len,
								    s.ms),
			  "%zu", i);
	}
	cr_assert(!write_request_check(buf_bytes(&message), &size, NULL));
	cr_assert(size.series == 15);
	cr_expect(size.samples == 15);
	w = wire_init(buf_bytes(&message));
	for (size_t i = 0; i < 15; i++) {
		struct bytes raw = { .ptr = text, .len = sizes[i % 5] };
		struct labels *got = NULL;
		struct write_sample sample;

		cr_assert(write_request_next(&w, &series));
		cr_assert(!write_series_labels(&series, &got, NULL));
		cr_expect(!labels_cmp(got, labels));
		labels_unref(got);
		cr_assert(write_series_next(&series, &sample));
		cr_expect(sample.ms == times[i % 5]);
		cr_expect(bytes_eq(sample.value, raw), "%zu", i);
	}
	labels_unref(labels);
	write_builder_free(b);
	buf_fini(&encoded);
	buf_fini(&message);
	buf_fini(&body);
}

Test(write_builder, damaged_bodies_leave_the_message_as_it_was)
{
	struct write_builder *b = write_builder_new();
	struct bytes raw = { (const uint8_t *)"a profile, or so", 16 };
	struct bytes labels = { 0 };
	struct write_request_size size;
	struct buf message = { 0 };
	struct buf body = { 0 };
	struct logged_sample s = make(BODY_PLAIN, raw, 5, &body);
	size_t len;

	cr_assert(!write_builder_add(b, labels, &s, &message, NULL));
	len = message.len;
	for (int e = BODY_PLAIN; e <= BODY_ZSTD + 1; e++) {
		s = make((enum body_encoding)(e > BODY_ZSTD ? 0 : e), raw, 5,
			 &body);
		s.encoding = (enum body_encoding)e;
		s.hash += e == BODY_PLAIN;
		s.body.len -= e != BODY_PLAIN;
		cr_expect(write_builder_add(b, labels, &s, &message, NULL) ==
				  ERR_CORRUPT,
			  "%d", e);
		cr_assert(message.len == len);
		cr_expect(!message.over);
		/* A length that is not that of the profile. */
		s = make((enum body_encoding)(e > BODY_ZSTD ? 0 : e), raw, 5,
			 &body);
		s.raw_len--;
		cr_expect(write_builder_add(b, labels, &s, &message, NULL) ==
				  ERR_CORRUPT,
			  "%d", e);
		cr_assert(message.len == len);
		cr_expect(!message.over);
	}
	cr_expect(!write_request_check(buf_bytes(&message), &size, NULL));
	cr_expect(size.samples == 1);
	message.max = message.len + 20;
	s = make(BODY_PLAIN, raw, 5, &body);
	cr_expect(write_builder_add(b, labels, &s, &message, NULL) ==
		  ERR_TOOBIG);
	cr_assert(message.len == len);
	cr_expect(!message.over);
	write_builder_free(b);
	buf_fini(&message);
	buf_fini(&body);
}
