/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes requests of clients that push profiles. The first byte of an input
 * chooses the protocol and the compression; the rest is the body. For /ingest,
 * the body begins with the parameter `name`, up to a line feed.
 */
#include <stdlib.h>
#include <string.h>

#include "push/receive/push_receiver.h"

#define PROFILE_MAX ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t appended;

/* Take each profile. What it points to must be there. */
static int fuzz_append(struct appender *a UNUSED, const struct sample *s,
		       uint64_t *lsn, struct err *err UNUSED)
{
	if (!labels_get(s->labels, str_of(LABEL_NAME)).len ||
	    !labels_get(s->labels, str_of("service_name")).len || s->ms < 0 ||
	    (s->body.len && !s->body.ptr))
		abort();
	*lsn = ++appended;
	return 0;
}

static int fuzz_sync(struct appender *a UNUSED, uint64_t from, uint64_t lsn,
		     struct err *err UNUSED)
{
	if (!from || from > lsn || lsn > appended)
		abort();
	return 0;
}

static struct push_receiver *fuzz_receiver(void)
{
	static struct appender appender = { fuzz_append, fuzz_sync };
	const struct push_receiver_options o = {
		.appender = &appender,
		.limiter = ingest_limiter_new(64 << 20, PROFILE_MAX),
		.max_profile = PROFILE_MAX,
		.metrics = metrics_new(),
	};

	return push_receiver_new(&o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const types[] = {
		"application/octet-stream",
		"multipart/form-data; boundary=b",
		"multipart/form-data; boundary=\"b\"",
	};
	static struct push_receiver *r;
	struct ingest_share share = { 0 };
	struct push_input in = {
		.content_type = "application/proto",
		.content_encoding = "",
		.address = str_of("10.0.0.7"),
		.from = str_of("1700000000"),
		.format = str_of("pprof"),
		.share = &share,
		.deadline_ns = INT64_MAX,
	};
	struct err err;

	if (!size)
		return 0;
	if (!r)
		r = fuzz_receiver();
	in.body = (struct bytes){ data + 1, size - 1 };
	if (data[0] % 5 < 3) {
		struct str rest;

		in.protocol = PUSH_INGEST;
		in.content_type = types[data[0] % 5];
		in.name = str_cut(str_from(in.body), '\n', &rest);
		in.body = bytes_of(rest);
	} else {
		in.protocol = PUSH_V1;
		in.content_encoding = data[0] % 5 == 4 ? "gzip" : "";
	}
	if (push_receiver_take(r, &in, &err) && !*err.msg)
		abort();
	ingest_limiter_release(&share);
	return 0;
}
