/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the parsers of WAL segments, and that of chunk metadata. The first
 * byte of an input chooses the parser. Most parsers are called directly, so
 * that a wrong checksum does not keep inputs from them.
 */
#include "base/crc32c.h"
#include "base/enc.h"
#include "base/mem.h"
#include "tsdb/chunk/chunk_meta.h"
#include "tsdb/wal/segment_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void each(void *ctx, const struct segment_entry *e)
{
	uint64_t *sum = ctx;

	*sum += e->labels.len + e->typeset.len;
}

static void damaged(void *ctx, uint64_t offset, uint64_t len, bool torn)
{
	uint64_t *sum = ctx;

	*sum += offset + len + torn;
}

static void scan(struct bytes file)
{
	uint64_t sum = 0;
	struct record_iter it = { .file = file,
				  .offset = FILE_HEADER,
				  .base = (uint64_t)1 << 32,
				  .damaged = damaged,
				  .ctx = &sum };
	struct segment_profile p;
	struct record r;

	while (record_next(&it, &r))
		(void)!segment_profile_decode(&r, &p, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes rest = { .ptr = data + 1, .len = size ? size - 1 : 0 };
	struct record r = { .kind = SEGMENT_PROFILE, .head = rest };
	struct segment_profile p;
	struct file_header h;
	struct segment_numbers numbers;
	uint64_t sum = 0;
	uint64_t offset;

	if (!size)
		return 0;
	switch (data[0] % 4) {
	case 0:
		scan(rest);
		(void)!file_header_decode(rest, MAGIC_SEGMENT, &h, NULL);
		(void)segment_footer_decode(rest, 0, &offset);
		break;
	case 1:
		(void)!segment_profile_decode(&r, &p, NULL);
		break;
	case 2:
		(void)!segment_dir_decode(rest, 1, each, &sum, &numbers, NULL);
		break;
	default: {
		struct chunk_meta meta = { .total_count = data[0] / 4 };

		(void)!chunk_meta_decode(rest, &meta, NULL);
		break;
	}
	}
	return 0;
}
