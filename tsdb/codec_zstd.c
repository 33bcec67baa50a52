/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/codec_zstd.h"

#include "base/mem.h"
#include "base/zstd.h"

struct codec_encoder {
	struct zstd *zstd;
	int level;
};

static struct codec_encoder *encoder_new(int level)
{
	struct codec_encoder *e = mem_new(struct codec_encoder);

	e->zstd = zstd_new();
	e->level = level;
	return e;
}

static void encoder_free(struct codec_encoder *e)
{
	if (!e)
		return;
	zstd_free(e->zstd);
	mem_free(e);
}

static int encode(struct codec_encoder *e, const struct bytes *values,
		  size_t count, struct buf *out, uint64_t *table_len,
		  struct err *err UNUSED)
{
	*table_len = 0;
	zstd_compress(e->zstd, e->level, values, count, out);
	return 0;
}

static size_t sum(const uint32_t *lens, size_t count)
{
	size_t total = 0;

	for (size_t i = 0; i < count; i++)
		total += lens[i];
	return total;
}

static int decode(const struct codec_table *table UNUSED,
		  const struct codec_group *group, size_t first, size_t n,
		  struct buf *out, struct err *err)
{
	struct buf values = { 0 };
	struct zstd *z;
	size_t before;
	size_t want;
	int rc;

	if (first > group->count || n > group->count - first)
		return err_set(err, ERR_CORRUPT, "no value %zu in the group",
			       first + n);
	before = sum(group->lens, first);
	want = sum(group->lens + first, n);
	z = zstd_new();
	rc = zstd_decompress(z, group->stored, before + want, &values, err);
	if (!rc)
		buf_add(out, values.ptr + before, want);
	buf_fini(&values);
	zstd_free(z);
	return rc;
}

const struct codec codec_zstd = {
	.id = CODEC_ZSTD,
	.name = "zstd",
	.encoder_new = encoder_new,
	.encoder_free = encoder_free,
	.encode = encode,
	.decode = decode,
};
