/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/block/values.h"

#include "base/crc32c.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/units.h"
#include "tsdb/chunk/codec_zstd.h"

#define KEEP (4 * MIB) /* buffers of more bytes are freed after use */

/*
 * Free the decoder; called when the codec changes, because a decoder belongs to
 * one codec.
 */
static void put_decoder(struct values_reader *r)
{
	if (r->decoder)
		r->codec->decoder_free(r->decoder);
	r->decoder = NULL;
}

void values_reader_fini(struct values_reader *r)
{
	table_unref(r->table);
	put_decoder(r);
	buf_fini(&r->stored);
	*r = (struct values_reader){ 0 };
}

size_t values_reader_memory(const struct values_reader *r)
{
	return r->stored.cap +
	       (r->decoder ? r->codec->decoder_memory(r->decoder) : 0);
}

const struct codec *values_codec(struct part p, uint8_t id)
{
	const struct codec *columns = p.block ? p.block->env->columns : NULL;

	if (id == codec_zstd.id)
		return &codec_zstd;
	return columns && id == columns->id ? columns : NULL;
}

/*
 * Report a chunk whose codec this version does not have. This is not damage: a
 * newer version can read the chunk.
 */
static int no_codec(struct part p, const struct chunk_meta *h, struct err *err)
{
	return err_set(
		err, ERR_UNSUPPORTED,
		"%s: codec %u of a chunk is not supported: use the newer version of everprof that wrote it",
		p.head ? p.head->path : p.block->path, h->codec);
}

int values_table(struct values_reader *r, struct part p,
		 const struct chunk_meta *h, struct table_ref **out,
		 struct err *err)
{
	const struct chunk_table *at = &h->place.table;
	const struct file *f = part_values(p, h);
	int rc;

	*out = NULL;
	if (!at->len)
		return 0;
	if (h->codec == CODEC_ZSTD || !values_codec(p, h->codec))
		/*
		 * For a head the function always returns here, because only
		 * blocks have a codec with tables. Below, p.block is set.
		 */
		return no_codec(p, h, err);
	if (!f)
		return block_tell_absent(p.block, "values", h->place.file, err);
	/* Consecutive chunks usually share a stripe, and so its table. */
	if (!r->table || r->table_file != f ||
	    r->table_place.offset != at->offset) {
		table_unref(r->table);
		r->table = NULL;
		rc = tables_get(p.block->env->tables,
				&(struct table_place){ .owner = p.block,
						       .number = h->place.file,
						       .file = f,
						       .at = *at },
				&r->table, err);
		if (rc)
			return rc;
		r->table_file = f;
		r->table_place = *at;
	}
	*out = r->table;
	return 0;
}

int values_stored(struct values_reader *r, const struct file *f,
		  const struct chunk_place *place, struct bytes *out,
		  struct err *err)
{
	int rc;

	/* Free the memory of a very large chunk that was read before. */
	if (r->stored.cap > KEEP && r->stored.cap > place->len)
		buf_fini(&r->stored);
	buf_reset(&r->stored);
	*out = (struct bytes){ 0 };
	if (!buf_reserve(&r->stored, place->len))
		return err_set(
			err, ERR_TOOBIG,
			"%s: the chunk at offset %llu has %u bytes; at most %zu are allowed here",
			file_path(f), (unsigned long long)place->offset,
			place->len, buf_limit(&r->stored));
	rc = file_read(f, place->offset, r->stored.ptr, place->len, err);
	if (rc)
		return rc;
	r->stored.len = place->len;
	*out = buf_bytes(&r->stored);
	if (crc32c_extend(0, *out) != place->crc)
		return err_set(
			err, ERR_CORRUPT,
			"%s: checksum mismatch in the chunk at offset %llu",
			file_path(f), (unsigned long long)place->offset);
	return 0;
}

/*
 * The stored bytes of a chunk, and the inputs that its codec needs to decode
 * them.
 */
struct stored {
	struct codec_group group;
	const struct file *file; /* the values file, and the chunk's place */
	uint64_t offset;
	struct table_ref *table; /* table of the stripe, borrowed; or NULL */
	uint32_t lens[CHUNK_PROFILES_MAX];
};

/*
 * Read the stored bytes of a chunk and the table of its stripe, and make sure
 * that the reader has a decoder of the chunk's codec. Invalidates the rows of
 * the previous call.
 */
static int read_group(struct values_reader *r, struct part p,
		      const struct chunk_meta *h, struct stored *s,
		      struct err *err)
{
	const struct codec *codec = values_codec(p, h->codec);
	const struct file *f = part_values(p, h);
	int rc;

	r->rows = NULL;
	r->reads++;
	s->group = (struct codec_group){ .lens = s->lens, .count = h->count };
	s->file = f;
	s->offset = h->place.offset;
	for (size_t i = 0; i < h->count; i++)
		s->lens[i] = h->profiles[i].raw_len;
	if (!codec)
		return no_codec(p, h, err);
	if (!f)
		return block_tell_absent(p.block, "values", h->place.file, err);
	if (r->codec != codec)
		put_decoder(r);
	r->codec = codec;
	if (!r->decoder)
		r->decoder = codec->decoder_new();
	rc = values_table(r, p, h, &s->table, err);
	if (!rc && s->table)
		s->group.table = s->table->table;
	return rc ? rc : values_stored(r, f, &h->place, &s->group.stored, err);
}

/* Add the chunk's file and offset to the message of an error of its codec. */
static int values_name_chunk(const struct stored *s, int rc, struct err *err)
{
	return err_wrap(err, rc, "%s: the chunk at offset %llu",
			file_path(s->file), (unsigned long long)s->offset);
}

/* Report a decoded profile whose hash is wrong. */
static int values_differ(const struct stored *s, int64_t ms, struct err *err)
{
	char text[40];

	time_format(ms, text);
	err_set(err, ERR_CORRUPT,
		"the profile at %s differs from the received one (hash mismatch)",
		text);
	return values_name_chunk(s, ERR_CORRUPT, err);
}

/* Append n profiles to `out`, beginning with number `first` of the chunk. */
static int values_decode(struct values_reader *r, const struct stored *s,
			 size_t first, size_t n, struct buf *out,
			 struct err *err)
{
	int rc = r->codec->decode(r->decoder, &s->group, first, n, out, err);

	return rc ? values_name_chunk(s, rc, err) : 0;
}

int values_one(struct values_reader *r, struct part p,
	       const struct chunk_meta *h, size_t index, struct buf *out,
	       struct err *err)
{
	struct stored s;
	int rc = read_group(r, p, h, &s, err);

	buf_reset(out);
	if (!rc)
		rc = values_decode(r, &s, index, 1, out, err);
	/*
	 * The hash was computed when the profile was received, so it also
	 * catches errors that happened before the chunk's checksum was
	 * computed.
	 */
	if (!rc && hash_bytes(buf_bytes(out)) != h->profiles[index].hash)
		rc = values_differ(&s, h->profiles[index].ms, err);
	return rc;
}

/* NOLINTNEXTLINE(readability-function-size): the key and the two results */
int values_rows(struct values_reader *r, struct part p,
		const struct chunk_meta *h, const bool *types,
		const struct codec_rows **out, struct table_ref **table,
		struct err *err)
{
	const struct codec *codec = values_codec(p, h->codec);
	const struct file *f = part_values(p, h);
	struct stored s;
	int rc;

	if (!codec || !codec->rows)
		return err_set(err, ERR_UNSUPPORTED,
			       "the chunk is not stored as columns");
	/*
	 * If chunk and sample types are those of the last call, its rows are
	 * still valid. A query that adds up one profile after another asks for
	 * the same chunk up to 32 times.
	 */
	if (r->rows && r->rows_file == f && r->rows_offset == h->place.offset &&
	    !memcmp(r->rows_types, types, h->total_count * sizeof(*types))) {
		*out = r->rows;
		*table = r->rows_table;
		return 0;
	}
	rc = read_group(r, p, h, &s, err);
	if (rc)
		return rc;
	rc = codec->rows(r->decoder, &s.group, types, out, err);
	if (rc)
		return values_name_chunk(&s, rc, err);
	r->rows = *out;
	r->rows_table = s.table;
	*table = s.table;
	r->rows_file = f;
	r->rows_offset = h->place.offset;
	memcpy(r->rows_types, types, h->total_count * sizeof(*types));
	return 0;
}

/* The bytes of profile i within v. */
static struct bytes value_at(const struct chunk_meta *h, const struct values *v,
			     size_t i)
{
	return (struct bytes){ .ptr = v->bytes.ptr + v->at[i],
			       .len = h->profiles[i].raw_len };
}

/*
 * Decode the profiles of a damaged chunk one by one, because the profiles
 * before the damage may be intact. A profile is accepted only if its hash
 * agrees.
 */
static void values_salvage(struct values_reader *r, const struct chunk_meta *h,
			   const struct stored *s, struct values *out)
{
	buf_reset(&out->bytes);
	for (size_t i = 0; i < h->count; i++) {
		out->at[i] = out->bytes.len;
		out->ok[i] = !values_decode(r, s, i, 1, &out->bytes, NULL) &&
			     out->bytes.len - out->at[i] == s->lens[i] &&
			     hash_bytes(value_at(h, out, i)) ==
				     h->profiles[i].hash;
		if (!out->ok[i])
			out->bytes.len = out->at[i];
	}
}

/*
 * The whole chunk is decoded at once. If this fails or a hash differs, each
 * profile is decoded separately.
 */
int values_all(struct values_reader *r, struct part p,
	       const struct chunk_meta *h, struct values *out, struct err *err)
{
	struct stored s;
	size_t at = 0;
	int rc = read_group(r, p, h, &s, err);

	memset(out->ok, 0, sizeof(out->ok));
	if (rc && rc != ERR_CORRUPT)
		return rc;
	buf_reset(&out->bytes);
	if (!rc)
		rc = values_decode(r, &s, 0, h->count, &out->bytes, err);
	for (size_t i = 0; i < h->count && !rc; i++) {
		out->at[i] = at;
		at += h->profiles[i].raw_len;
		out->ok[i] = hash_bytes(value_at(h, out, i)) ==
			     h->profiles[i].hash;
		if (!out->ok[i])
			rc = values_differ(&s, h->profiles[i].ms, err);
	}
	if (rc == ERR_CORRUPT && s.group.stored.len)
		values_salvage(r, h, &s, out);
	return rc;
}
