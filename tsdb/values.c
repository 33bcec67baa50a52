/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/values.h"

#include "base/crc32c.h"
#include "base/hash.h"
#include "base/mem.h"
#include "tsdb/codec_zstd.h"

#define KEEP (4 * MIB) /* larger buffers are given back after use */

void values_reader_fini(struct values_reader *r)
{
	codec_zstd.decoder_free(r->zstd);
	buf_fini(&r->stored);
	*r = (struct values_reader){ 0 };
}

const struct codec *codec_of(uint8_t id)
{
	return id == codec_zstd.id ? &codec_zstd : NULL;
}

int values_stored(struct values_reader *r, const struct file *f,
		  const struct head_place *place, struct bytes *out,
		  struct err *err)
{
	int rc;

	if (r->stored.cap > KEEP && r->stored.cap > place->len)
		buf_fini(&r->stored);
	buf_reset(&r->stored);
	*out = (struct bytes){ 0 };
	if (!buf_reserve(&r->stored, place->len))
		return err_set(err, ERR_TOOBIG, "a group of %u bytes",
			       place->len);
	rc = file_read(f, place->offset, r->stored.ptr, place->len, err);
	if (rc)
		return rc;
	r->stored.len = place->len;
	*out = buf_bytes(&r->stored);
	if (crc32c(0, *out) != place->crc)
		return err_set(err, ERR_CORRUPT,
			       "%s at %llu: the group's checksum differs",
			       file_path(f), (unsigned long long)place->offset);
	return 0;
}

/* The lengths of a group's profiles. */
static struct codec_group describe(const struct head *h, struct bytes stored,
				   uint32_t lens[GROUP_PROFILES_MAX])
{
	for (size_t i = 0; i < h->count; i++)
		lens[i] = h->profiles[i].raw_len;
	return (struct codec_group){ .stored = stored,
				     .lens = lens,
				     .count = h->count };
}

/* Which profiles of a group. */
struct span {
	size_t first;
	size_t n;
};

static int decode(struct values_reader *r, const struct head *h,
		  struct bytes stored, struct span span, struct buf *out,
		  struct err *err)
{
	uint32_t lens[GROUP_PROFILES_MAX];
	struct codec_group group = describe(h, stored, lens);
	const struct codec *codec = codec_of(h->codec);

	if (!codec)
		return err_set(
			err, ERR_UNSUPPORTED,
			"stored with codec %u, which this everprof lacks",
			h->codec);
	if (!r->zstd)
		r->zstd = codec->decoder_new();
	return codec->decode(r->zstd, &group, span.first, span.n, out, err);
}

int values_one(struct values_reader *r, const struct file *f,
	       const struct head *h, size_t index, struct buf *out,
	       struct err *err)
{
	struct bytes stored = { 0 };
	int rc = values_stored(r, f, &h->place, &stored, err);

	buf_reset(out);
	if (!rc)
		rc = decode(r, h, stored, (struct span){ index, 1 }, out, err);
	if (!rc && hash64(buf_bytes(out)) != h->profiles[index].hash)
		rc = err_set(err, ERR_CORRUPT,
			     "%s: the profile's hash differs from when it came",
			     file_path(f));
	return rc;
}

static struct bytes value_at(const struct head *h, const struct values *v,
			     size_t i)
{
	return (struct bytes){ .ptr = v->bytes.ptr + v->at[i],
			       .len = h->profiles[i].raw_len };
}

/* One by one: those before the damage may be whole. */
static void salvage(struct values_reader *r, const struct head *h,
		    struct bytes stored, struct values *out)
{
	buf_reset(&out->bytes);
	for (size_t i = 0; i < h->count; i++) {
		out->at[i] = out->bytes.len;
		out->ok[i] = !decode(r, h, stored, (struct span){ i, 1 },
				     &out->bytes, NULL) &&
			     hash64(value_at(h, out, i)) == h->profiles[i].hash;
		if (!out->ok[i])
			out->bytes.len = out->at[i];
	}
}

int values_all(struct values_reader *r, const struct file *f,
	       const struct head *h, struct values *out, struct err *err)
{
	struct bytes stored = { 0 };
	size_t at = 0;
	int rc = values_stored(r, f, &h->place, &stored, err);

	if (rc && rc != ERR_CORRUPT)
		return rc;
	buf_reset(&out->bytes);
	if (!rc)
		rc = decode(r, h, stored, (struct span){ 0, h->count },
			    &out->bytes, err);
	for (size_t i = 0; i < h->count && !rc; i++) {
		out->at[i] = at;
		at += h->profiles[i].raw_len;
		out->ok[i] = hash64(value_at(h, out, i)) == h->profiles[i].hash;
		if (!out->ok[i])
			rc = err_set(err, ERR_CORRUPT,
				     "%s: a profile's hash differs",
				     file_path(f));
	}
	if (rc == ERR_CORRUPT && stored.len)
		salvage(r, h, stored, out);
	return rc;
}
