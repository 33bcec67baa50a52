/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the decoding of requests of remote write. The first byte of an input
 * chooses snappy, zstd or an uncompressed message.
 */
#include <stdlib.h>

#include "remotewrite/wire/write_body.h"
#include "remotewrite/wire/write_request.h"

#define MESSAGE_MAX ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads a checked message; what it contains must be as much as was counted. */
static void read_message(struct bytes b)
{
	struct wire w = wire_init(b);
	struct write_request_size size;
	struct write_request_size seen = { 0 };
	struct write_series s;

	if (write_request_check(b, &size, NULL))
		return;
	while (write_request_next(&w, &s)) {
		struct labels *labels = NULL;
		struct write_sample sample;

		seen.series++;
		if (!write_series_labels(&s, &labels, NULL) &&
		    !labels_get(labels, str_of(LABEL_NAME)).len)
			abort();
		labels_unref(labels);
		while (write_series_next(&s, &sample)) {
			seen.samples++;
			if (sample.value.len &&
			    (sample.value.ptr < b.ptr ||
			     sample.value.ptr + sample.value.len >
				     b.ptr + b.len))
				abort();
		}
	}
	if (w.bad || seen.series != size.series || seen.samples != size.samples)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct zstd *z;
	struct bytes in = { .ptr = data + 1, .len = size - 1 };
	struct buf out = { 0 };
	enum write_compression c;
	size_t len;

	if (!size)
		return 0;
	if (!z)
		z = zstd_new();
	if (data[0] > 1) {
		read_message(in);
		return 0;
	}
	c = data[0] ? WRITE_ZSTD : WRITE_SNAPPY;
	if (!write_body_size(c, in, MESSAGE_MAX, &len, NULL) &&
	    !write_body_decode(c, z, in, len, &out, NULL))
		read_message(buf_bytes(&out));
	buf_fini(&out);
	return 0;
}
