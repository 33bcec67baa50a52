/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Side-band records, as the kernel writes them, and cut off at each byte.
 */
#include <linux/perf_event.h>
#include <sys/mman.h>

#include "base/buf.h"
#include "bpf/kernel/side_band_record.h"
#include "tests/check.h"

TestSuite(side_band, .timeout = 30);

/* Add numbers in the order of the machine, as the kernel does. */
static void add32(struct buf *b, uint32_t n)
{
	buf_add(b, &n, sizeof(n));
}

static void add64(struct buf *b, uint64_t n)
{
	buf_add(b, &n, sizeof(n));
}

/* Put the header before what the buffer has. */
static struct buf record_of(uint32_t type, uint16_t misc, struct buf *body)
{
	struct perf_event_header h = {
		.type = type,
		.misc = misc,
		.size = (uint16_t)(sizeof(h) + body->len + 8),
	};
	struct buf b = { 0 };
	const uint64_t time = 123456789;

	buf_add(&b, &h, sizeof(h));
	buf_add(&b, body->ptr, body->len);
	buf_add(&b, &time, sizeof(time));
	buf_fini(body);
	return b;
}

/* Parse, also without the last bytes: those are refused, each. */
static struct side_band_record parse(const struct buf *b)
{
	struct side_band_record r;

	for (size_t len = 0; len < b->len; len++) {
		struct bytes part = { .ptr = b->ptr, .len = len };

		cr_expect(!side_band_parse(part, &r));
	}
	cr_assert(side_band_parse(buf_bytes(b), &r));
	cr_expect(r.time == 123456789);
	return r;
}

static struct buf map_body(uint32_t protection, bool build_id)
{
	struct buf b = { 0 };

	add32(&b, 7);
	add32(&b, 8);
	add64(&b, 0x7f0000001000);
	add64(&b, 0x2000);
	add64(&b, 0x3000);
	if (build_id) {
		add32(&b, 20);
		buf_add(&b,
			"\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20\21\22\23\24",
			20);
	} else {
		add32(&b, 0xfe);
		add32(&b, 1);
		add64(&b, 1234);
		add64(&b, 99);
	}
	add32(&b, protection);
	add32(&b, 2);
	buf_add(&b, "/usr/lib/x.so\0\0", 16);
	return b;
}

Test(side_band, mappings)
{
	struct buf body = map_body(PROT_READ | PROT_EXEC, false);
	struct buf b = record_of(PERF_RECORD_MMAP2, 0, &body);
	struct side_band_record r = parse(&b);

	cr_assert(r.kind == SIDE_BAND_MAP);
	cr_assert(r.pid == 7);
	cr_expect(r.tid == 8);
	cr_assert(r.start == 0x7f0000001000);
	cr_expect(r.end == 0x7f0000003000);
	cr_expect(r.offset == 0x3000);
	cr_assert(r.major == 0xfe);
	cr_assert(r.minor == 1);
	cr_expect(r.inode == 1234);
	cr_expect(!r.build_id.len);
	cr_expect(check_str(r.text, "/usr/lib/x.so"));
	buf_fini(&b);
	body = map_body(PROT_READ | PROT_EXEC, true);
	b = record_of(PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID, &body);
	r = parse(&b);
	cr_assert(r.kind == SIDE_BAND_MAP);
	cr_expect(r.build_id.len == 20);
	cr_assert(r.build_id.ptr[0] == 1);
	cr_expect(r.build_id.ptr[19] == 20);
	cr_assert(!r.inode);
	cr_expect(check_str(r.text, "/usr/lib/x.so"));
	buf_fini(&b);
	/* Data is of no interest. */
	body = map_body(PROT_READ, false);
	b = record_of(PERF_RECORD_MMAP2, 0, &body);
	cr_expect(parse(&b).kind == SIDE_BAND_OTHER);
	buf_fini(&b);
}

Test(side_band, impossible_mappings_are_refused)
{
	struct side_band_record r;
	struct buf body = map_body(PROT_EXEC, true);
	struct buf b = record_of(PERF_RECORD_MMAP2,
				 PERF_RECORD_MISC_MMAP_BUILD_ID, &body);
	uint64_t whole = UINT64_MAX;

	b.ptr[8 + 32] = 21; /* length of the build ID */
	cr_expect(!side_band_parse(buf_bytes(&b), &r));
	b.ptr[8 + 32] = 20;
	cr_expect(side_band_parse(buf_bytes(&b), &r));
	memcpy(b.ptr + 8 + 16, &whole, 8); /* the addresses wrap around */
	cr_expect(!side_band_parse(buf_bytes(&b), &r));
	memset(b.ptr + 8 + 16, 0, 8);
	cr_expect(!side_band_parse(buf_bytes(&b), &r));
	buf_fini(&b);
}

Test(side_band, names_and_programs)
{
	struct buf body = { 0 };
	struct buf b;
	struct side_band_record r;

	add32(&body, 7);
	add32(&body, 8);
	buf_add(&body, "worker\0\0", 8);
	b = record_of(PERF_RECORD_COMM, 0, &body);
	r = parse(&b);
	cr_assert(r.kind == SIDE_BAND_NAME);
	cr_assert(r.pid == 7);
	cr_expect(r.tid == 8);
	cr_expect(check_str(r.text, "worker"));
	b.ptr[5] = PERF_RECORD_MISC_COMM_EXEC >> 8;
	cr_expect(parse(&b).kind == SIDE_BAND_EXEC);
	buf_fini(&b);
}

Test(side_band, tasks_and_losses)
{
	struct buf body = { 0 };
	struct buf b;
	struct side_band_record r;

	for (uint32_t i = 1; i <= 4; i++)
		add32(&body, i);
	add64(&body, 99);
	b = record_of(PERF_RECORD_FORK, 0, &body);
	r = parse(&b);
	cr_expect(r.kind == SIDE_BAND_FORK);
	cr_assert(r.pid == 1);
	cr_assert(r.parent == 2);
	cr_expect(r.tid == 3);
	b.ptr[0] = PERF_RECORD_EXIT;
	cr_expect(parse(&b).kind == SIDE_BAND_EXIT);
	buf_fini(&b);
	add64(&body, 5);
	add64(&body, 1000);
	b = record_of(PERF_RECORD_LOST, 0, &body);
	r = parse(&b);
	cr_assert(r.kind == SIDE_BAND_LOST);
	cr_expect(r.lost == 1000);
	b.ptr[0] = 200;
	cr_expect(parse(&b).kind == SIDE_BAND_OTHER);
	b.ptr[6] = 7; /* shorter than its header */
	b.ptr[7] = 0;
	cr_expect(!side_band_parse(buf_bytes(&b), &r));
	buf_fini(&b);
}
