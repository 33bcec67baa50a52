/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the reader of the log of a head block. If the first byte is even, the
 * input is the log. If it is odd, the input is a list of {kind, length, head},
 * which become records with right checksums.
 */
#include "base/enc.h"
#include "base/metrics.h"
#include "tsdb/head/head.h"
#include "tsdb/head/head_open.h"
#include "tsdb/io/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void make_log(struct bytes in, struct buf *out)
{
	struct file_header h = { .magic = MAGIC_GROUPS };

	file_header_encode(&h, out);
	while (in.len > 2) {
		size_t len = in.ptr[1] < in.len - 2 ? in.ptr[1] : in.len - 2;
		struct record r = { .position = out->len,
				    .kind = in.ptr[0] % 6,
				    .head = { .ptr = in.ptr + 2, .len = len } };

		record_encode(&r, 0, out);
		in.ptr += len + 2;
		in.len -= len + 2;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct metrics *m = metrics_new();
	struct head_env env = { .read_only = true, .interner = interner_new() };
	struct bytes in = { .ptr = data, .len = size };
	struct buf log = { 0 };
	struct head *r;

	env.corruptions = metrics_counter(m, "corruptions", "", NULL);
	env.torn = env.corruptions;
	r = head_new(&env, "fuzz");
	/* The reader names the file in its reports, so there must be one. */
	if (!file_open(NULL, "/dev/null", FILE_READ, &r->groups, NULL)) {
		if (size && data[0] & 1)
			make_log(in, &log);
		else
			buf_add(&log, data, size);
		(void)!head_load(r, buf_bytes(&log), NULL);
	}
	head_unref(r);
	interner_free(env.interner);
	metrics_free(m);
	buf_fini(&log);
	return 0;
}
