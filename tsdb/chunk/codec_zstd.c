/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/chunk/codec_zstd.h"

#include "base/mem.h"
#include "base/zstd.h"

#define GROUP_KEEP (4 * MIB) /* buffers of more bytes are freed after use */

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

/* Compress all profiles as one zstd frame; never refuses. */
static int codec_zstd_encode(struct codec_encoder *e,
			     const struct bytes *values, size_t count,
			     struct buf *out, struct err *err UNUSED)
{
	zstd_compress(e->zstd, e->level, values, count, out);
	return 0;
}

/* Total length of `count` profiles. */
static size_t codec_zstd_sum_sections(const uint32_t *lens, size_t count)
{
	size_t total = 0;

	for (size_t i = 0; i < count; i++)
		total += lens[i];
	return total;
}

struct codec_decoder {
	struct zstd *zstd;
	/* Decompressed profiles of a chunk, up to the last requested one. */
	struct buf values;
};

static struct codec_decoder *codec_zstd_decoder_new(void)
{
	struct codec_decoder *d = mem_new(struct codec_decoder);

	d->zstd = zstd_new();
	return d;
}

static void codec_zstd_decoder_free(struct codec_decoder *d)
{
	if (!d)
		return;
	zstd_free(d->zstd);
	buf_fini(&d->values);
	mem_free(d);
}

/* Memory of the decoder in bytes, without zstd's context. */
static size_t codec_zstd_decoder_memory(const struct codec_decoder *d)
{
	return sizeof(*d) + d->values.cap;
}

/*
 * A frame can only be decompressed from its beginning. Decompression stops at
 * the end of the last requested profile; profiles before the first requested
 * one are dropped.
 */
static int codec_zstd_decode(struct codec_decoder *d,
			     const struct codec_group *group, size_t first,
			     size_t n, struct buf *out, struct err *err)
{
	size_t before;
	size_t want;
	int rc;

	/* These numbers come from metadata that may be damaged. */
	if (first > group->count || n > group->count - first)
		return err_set(err, ERR_CORRUPT,
			       "the chunk has no profile with the number %zu",
			       first + n);
	before = codec_zstd_sum_sections(group->lens, first);
	want = codec_zstd_sum_sections(group->lens + first, n);
	/*
	 * No profile precedes the requested ones: decompress directly into
	 * `out`.
	 */
	if (!before)
		return zstd_decompress(d->zstd, group->stored, want, out, err);
	buf_reset(&d->values);
	rc = zstd_decompress(d->zstd, group->stored, before + want, &d->values,
			     err);
	if (!rc)
		buf_add(out, d->values.ptr + before, want);
	if (d->values.cap > GROUP_KEEP)
		buf_fini(&d->values);
	return rc;
}

const struct codec codec_zstd = {
	.id = CODEC_ZSTD,
	.name = "zstd",
	.encoder_new = encoder_new,
	.encoder_free = encoder_free,
	.encode = codec_zstd_encode,
	.decoder_new = codec_zstd_decoder_new,
	.decoder_free = codec_zstd_decoder_free,
	.decoder_memory = codec_zstd_decoder_memory,
	.decode = codec_zstd_decode,
};
